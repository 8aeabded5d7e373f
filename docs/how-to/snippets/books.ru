PREFIX ex: <https://example.org/library/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA {
    ex:ada a ex:Author ; rdfs:label "Ada Palmer"@en ; ex:wrote ex:lightning .
    ex:lightning a ex:Book ; rdfs:label "Too Like the Lightning"@en .
}
