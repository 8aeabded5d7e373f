CREATE (hanks:Person:Actor {name: 'Tom Hanks', born: 1956})
CREATE (ryan:Person:Actor {name: 'Meg Ryan', born: 1961})
CREATE (nora:Person {name: 'Nora Ephron', born: date('1941-05-19')})
CREATE (mail:Movie {title: 'You\'ve Got Mail', released: 1998, tagline: 'Someone you pass on the street'})
CREATE (hanks)-[:ACTED_IN {roles: ['Joe Fox']}]->(mail)
CREATE (ryan)-[:ACTED_IN {roles: ['Kathleen Kelly']}]->(mail)
CREATE (nora)-[:DIRECTED]->(mail);
