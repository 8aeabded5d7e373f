"""Tables of neo4j-admin, KGX and Gephi."""

import pytest

from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.load import SourceAccount
from bfsql.sources import SourceOptions, open_sources

PEOPLE = """\
personId:ID(Person),name,year:int,score:float,active:boolean,roles:string[],marks:int[],born:date,x:IGNORE,:LABEL
1,Ann,1980,1.50,TRUE,actor;director,3;4,1980-02-29,secret,Person;Actor
2,Bob,n/a,NaN,no,,,,,
"""
FILMS = "id:ID(Film),title:string,:LABEL\n1,1984,Film\n"
ROLES = ":START_ID(Person),role,:END_ID(Film),:TYPE\n1,Josh,1,ACTED_IN\n"


@pytest.fixture
def read_all_of(write, sort_out):
    def read(*files, **options):
        paths = [write(name, content) for name, content in files]
        sources = open_sources(paths, SourceOptions(**options))
        found = sort_out(record for source in sources for record in source.records)
        return found, [source.account for source in sources]

    return read


def meanings(account: SourceAccount) -> dict[str, str]:
    return {column.name: column.meaning for column in account.columns}


def test_a_node_header_of_neo4j_types_its_columns(read):
    found = read("n.csv", PEOPLE)
    assert found.nodes == [
        NodeRecord(
            "1",
            "Person",
            {
                "year": 1980,
                "score": 1.5,
                "active": True,
                "roles": ["actor", "director"],
                "marks": [3, 4],
                "born": "1980-02-29",
                "other_types": ["Actor"],
                "name": "Ann",
            },
        ),
        NodeRecord("2", "", {"year": "n/a", "score": "NaN", "active": "no", "name": "Bob"}),
    ]
    assert found.refusals == []
    assert meanings(found.account) == {
        "personId:ID(Person)": "id",
        "name": "name",
        "year:int": "metadata",
        "score:float": "metadata",
        "active:boolean": "metadata",
        "roles:string[]": "metadata",
        "marks:int[]": "metadata",
        "born:date": "metadata",
        "x:IGNORE": "ignored",
        ":LABEL": "type",
    }


def test_a_text_of_neo4j_stays_text_though_it_looks_like_a_number(read):
    found = read("n.csv", "id:ID,title:string,code:string,n\n1,1984,0042,7\n2,x,7,8\n")
    assert [node.metadata["code"] for node in found.nodes] == ["0042", "7"]
    assert [node.metadata["n"] for node in found.nodes] == [7, 8]


def test_equal_ids_of_two_groups_are_two_nodes(read_all_of):
    found, accounts = read_all_of(("n.csv", PEOPLE), ("f.csv", FILMS), ("r.csv", ROLES))
    assert [node.id for node in found.nodes] == ["Person:1", "Person:2", "Film:1"]
    assert found.edges == [EdgeRecord("Person:1", "ACTED_IN", "Film:1", {"role": "Josh"})]
    assert all("group:id" in account.notes[-1] for account in accounts)


def test_ids_of_one_group_stay_as_they_are(read_all_of):
    knows = ":START_ID(Person),:END_ID(Person),:TYPE\n1,2,KNOWS\n"
    found, _ = read_all_of(("n.csv", PEOPLE), ("r.csv", knows))
    assert [node.id for node in found.nodes] == ["1", "2"]
    assert found.triples == [("1", "KNOWS", "2")]


def test_a_header_in_a_file_of_its_own_is_that_of_the_tables_behind_it(read_all_of):
    found, accounts = read_all_of(
        ("people-header.csv", "id:ID;name;:LABEL\n"),
        ("people-1.csv", "1;Ann;P\n2;Bob, Jr;P\n"),
        ("people-2.csv.gz", "3;Cat;P\n"),
        ("knows-header.csv", ":START_ID,:END_ID,:TYPE\n"),
        ("knows.csv", "1,2,KNOWS\n1,2\n1,3,KNOWS,x\n"),
        ("other.csv", "from,to\n2,3\n"),
    )
    assert [(node.id, node.metadata["name"]) for node in found.nodes] == [
        *(("1", "Ann"), ("2", "Bob, Jr"), ("3", "Cat"))
    ]
    assert found.triples == [
        *(("1", "KNOWS", "2"), ("1", "related_to", "2"), ("2", "related_to", "3"))
    ]
    assert found.reasons == [(3, "has 4 cells, but the table 3 columns")]
    assert "only a header" in accounts[0].notes[0]
    assert accounts[2].notes == ["its columns are those of people-header.csv"]
    assert meanings(accounts[2]) == {"id:ID": "id", "name": "name", ":LABEL": "type"}
    assert [account.nodes for account in accounts] == [0, 2, 1, 0, 0, 0]


def test_options_of_neo4j_ids_are_not_taken_for_columns_of_their_own(read):
    found = read("n.csv", "uid:ID(P){label:Person},id:string,name\n1,x,Ann\n")
    assert found.nodes == [NodeRecord("1", "", {"id": "x", "name": "Ann"})]


def test_the_two_tables_of_gephi(read_all_of):
    found, (nodes, edges) = read_all_of(
        ("nodes.csv", "Id,Label,timeset,modularity_class\n1,Ann,,0\n2,Bob,,1\n"),
        (
            "edges.csv",
            (
                "Source,Target,Type,Id,Label,timeset,Weight\n1,2,Undirected,0,,,1.0\n"
                "2,1,Directed,1,likes,,2.0\n"
            ),
        ),
    )
    assert found.nodes == [
        NodeRecord("1", "", {"modularity_class": 0, "name": "Ann"}),
        NodeRecord("2", "", {"modularity_class": 1, "name": "Bob"}),
    ]
    assert found.edges == [
        EdgeRecord("1", "related_to", "2", {"Id": 0, "Weight": 1.0}),
        EdgeRecord("2", "likes", "1", {"Id": 1, "Weight": 2.0}),
    ]
    assert meanings(nodes) == {
        "Id": "id",
        "Label": "name",
        "timeset": "metadata",
        "modularity_class": "metadata",
    }
    assert meanings(edges)["Type"] == "ignored"
    assert "is not a predicate" in edges.notes[0]


def test_a_type_of_edges_that_is_no_direction_is_the_predicate(read):
    text = "Source,Target,Type\n1,2,Undirected\n2,3,knows\n"
    assert [predicate for _, predicate, _ in read("e.csv", text).triples] == [
        *("Undirected", "knows")
    ]
    text = "subject,predicate,object\n1,Directed,2\n"
    assert read("e.csv", text).triples == [("1", "Directed", "2")]
    text = "source,type,target\n1,directed,2\n"  # as in: a person directed a film
    assert read("e.csv", text).triples == [("1", "directed", "2")]
    text = "Source,Target,Type\n1,2,Undirected\n"
    assert read("e.csv", text, predicate_column="type").triples == [("1", "Undirected", "2")]


def test_the_two_tables_of_kgx(read_all_of):
    found, _ = read_all_of(
        (
            "nodes.tsv",
            (
                "id\tcategory\tname\tdescription\txref\tsynonym\n"
                "HGNC:1\tbiolink:Gene|biolink:NamedThing\tA1\tone | two\tX:1|Y:2\ta|b\n"
                "HGNC:2\tbiolink:Gene\tA2\t\tX:3\t\n"
            ),
        ),
        (
            "edges.tsv",
            (
                "id\tsubject\tpredicate\tobject\tcategory\tpublications\tprimary_knowledge_source\n"
                "u1\tHGNC:1\tbiolink:interacts_with\tHGNC:2\tbiolink:Association\tPMID:1|PMID:2\t"
                "infores:x\n"
            ),
        ),
    )
    assert found.nodes == [
        NodeRecord(
            "HGNC:1",
            "biolink:Gene",
            {
                "description": "one | two",
                "xref": ["X:1", "Y:2"],
                "other_types": ["biolink:NamedThing"],
                "name": "A1",
                "synonyms": ["a", "b"],
            },
        ),
        NodeRecord("HGNC:2", "biolink:Gene", {"xref": "X:3", "name": "A2"}),
    ]
    assert found.edges == [
        EdgeRecord(
            "HGNC:1",
            "biolink:interacts_with",
            "HGNC:2",
            {
                "id": "u1",
                "category": "biolink:Association",
                "publications": ["PMID:1", "PMID:2"],
                "primary_knowledge_source": "infores:x",
            },
        )
    ]


def test_kgx_in_json_lines_has_lists_of_types(read):
    found = read("n.jsonl", '{"id": "a", "category": ["biolink:Gene", "biolink:Thing"]}\n')
    assert found.nodes == [NodeRecord("a", "biolink:Gene", {"other_types": ["biolink:Thing"]})]
