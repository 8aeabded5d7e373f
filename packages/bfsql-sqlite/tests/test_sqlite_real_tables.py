"""Tables as people have them, written by hand after real files: the command, its report, its graph.

Each case failed or was wrong without a word before; now it loads, or the report names the option
with which it does, or what to convert it with.
"""

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql.sources.registry import CONVERSIONS, format_of
from bfsql_test_support.case_table import case_table
from bfsql_test_support.loaded_graph import check_graph

pytestmark = pytest.mark.slow


class Case(NamedTuple):
    """Files, the options of their load, and its outcome."""

    files: dict[str, str]
    options: str
    size: str
    """The nodes and edges; of a load that fails nothing."""
    report: tuple[str, ...]
    """Parts of the report or the error."""
    edges: str = ""
    """All edges by the names of their nodes; with `related_to` no predicate is written."""
    types: str = "Node"
    code: int = 0

    def graph(self):
        """All types, and all edges."""
        edges = [one.strip() for one in self.edges.split(";") if one.strip()]
        return {*self.types.split()}, [one.replace(" > ", " -related_to-> ") for one in edges]


SNAP = "# Directed graph\n# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n0\t1\n0\t2\n2\t1\n3\t0\n"
UMLS = """\
acquired_abnormality\tlocation_of\texperimental_model_of_disease
anatomical_structure\tlocation_of\tbacterium
bacterium\tcauses\texperimental_model_of_disease
"""
ROUTES = "2B,410,AER,2965,KZN,2990,,0,CR2\n2B,410,ASF,2966,KZN,\\N,,0,CR2\n"
CONTENT = "31336\t0\t0\t1\tNeural_Networks\n1061127\t0\t1\t0\tRule_Learning\n"
APOC = """\
"_id","_labels","born","name","_start","_end","_type","role"
"0",":Person:Actor","1956","Tom",,,,
"1",":Movie",,"Big",,,,
,,,,"0","1","ACTED_IN","Josh"
"""
NEPTUNE = {
    "nodes.csv": "~id,~label,name:String,runways:Int\n1,airport,Atlanta,5\n2,airport,Austin,2\n",
    "edges.csv": "~id,~from,~to,~label,dist:Int\n10,1,2,route,811\n",
}
ARANGO = {
    "airports.csv": "_key,name\nJFK,New York\nATL,Atlanta\n",
    "flights.csv": "_from,_to,dist\nairports/JFK,airports/ATL,760\n",
}
CTD = {"ctd.csv": "gene,disease,score\nBRCA1,breast cancer,0.9\nTP53,Li-Fraumeni,0.8\n"}
SUPPLIERS = {
    "products.csv": "productID,supplierID,title\n1,1,Chai\n2,1,Chang\n",
    "suppliers.csv": "supplierID,company\n1,Exotic\n",
}
PRODUCTS = {"products.csv": "productID,name,categoryID\n1,Chai,1\n2,Chang,1\n3,Syrup,2\n"}
FLARE = {
    "flare.csv": "id,parent,value\nflare,,\nflare.a,flare,3\nflare.b,flare,4\nflare.a.x,flare.a,1\n"
}
FLARE_JSON = {
    "flare.json": '[{"id": 1, "name": "flare"}, {"id": 2, "name": "query", "parent": 1}, '
    '{"id": 3, "name": "methods", "parent": 2}]'
}
ENDS = "--subject-column gene --object-column disease"
SENTENCES = "".join(f"n{at},n{at * 7 % 40},sentence {at} of the text\n" for at in range(40))

CASES = {
    "SNAP": Case(
        {"web-Stanford.txt": SNAP},
        "",
        "4 nodes, 4 edges",
        ("FromNodeId -> subject",),
        edges="0 > 1; 0 > 2; 2 > 1; 3 > 0",
    ),
    "triples without a header": Case(
        {"umls.txt": UMLS},
        "",
        "4 nodes, 3 edges",
        ("it has no header: subject, predicate, obj",),
        edges="acquired_abnormality -location_of-> experimental_model_of_disease; "
        "anatomical_structure -location_of-> bacterium; "
        "bacterium -causes-> experimental_model_of_disease",
    ),
    "a header that is data, kept on purpose": Case(
        {"umls.tsv": UMLS},
        "--subject-column acquired_abnormality --object-column experimental_model_of_disease",
        "3 nodes, 2 edges",
        ("looks like data: if it is, add --no-header",),
        edges="anatomical_structure > bacterium; bacterium > experimental_model_of_disease",
    ),
    "Cora, content by numbers": Case(
        {"cora.content": CONTENT},
        "--no-header --id-column 1 --type-column 5",
        "2 nodes, 0 edges",
        ('column_1 -> id ("31336")',),
        types="Neural_Networks Rule_Learning",
    ),
    "OpenFlights": Case(
        {"routes.dat": ROUTES}, "", "", ("the names of its 9 columns: 2B, 410", "--columns")
    ),
    "OpenFlights with names": Case(
        {"routes.dat": ROUTES},
        "--columns airline,,source,,target,,,,equipment",
        "3 nodes, 2 edges",
        ("source -> subject", "column_2 -> metadata"),
        edges="AER > KZN; ASF > KZN",
    ),
    "OpenFlights with a header": Case(
        {"routes.dat": f"Airline,AirlineID,Source,SourceID,Dest,DestID,Code,Stops,Eq\n{ROUTES}"},
        "",
        "3 nodes, 2 edges",
        ("Source -> subject", "Dest -> object"),
        edges="AER > KZN; ASF > KZN",
    ),
    "WormNet": Case(
        {"worm.edges": "1 2 1\n1  3 1\n2 3 5\n"},
        "",
        "3 nodes, 3 edges",
        ("blanks between cells", "column_3 -> metadata"),
        edges="1 > 2; 1 > 3; 2 > 3",
    ),
    "KONECT": Case(
        {"out.dat": "% asym weighted\n1 2 3.5\n2 3 1\n"},
        "",
        "3 nodes, 2 edges",
        ("column_3",),
        edges="1 > 2; 2 > 3",
    ),
    "STRING": Case(
        {"links.txt": "#source\ttarget\tscore\nA\tB\t1\n"},
        "",
        "2 nodes, 1 edge",
        ("source -> s",),
        edges="A > B",
    ),
    "a named separator": Case(
        {"a.csv": "from~to\na~b\n"},
        "--separator ~",
        "2 nodes, 1 edge",
        ("~ between cells",),
        edges="a > b",
    ),
    "too few names": Case({"umls.txt": UMLS}, "--columns a,b", "", ("has 2 names, but",)),
    "APOC": Case(
        {"all.csv": APOC},
        "",
        "2 nodes, 1 edge",
        ("rows with neither end",),
        edges="Tom -ACTED_IN-> Big",
        types="Person Movie",
    ),
    "Neptune": Case(
        NEPTUNE,
        "",
        "2 nodes, 1 edge",
        ("~from -> subject", "~label -> type"),
        edges="Atlanta -route-> Austin",
        types="airport",
    ),
    "Neptune, as an old message advised": Case(
        NEPTUNE,
        "--id-column ~id",
        "2 nodes, 1 edge",
        ("~from -> subject",),
        edges="Atlanta -route-> Austin",
        types="airport",
    ),
    "ArangoDB": Case(
        ARANGO,
        "",
        "2 nodes, 1 edge",
        ("its ids are written as airports/_key",),
        edges="New York > Atlanta",
    ),
    "CTD": Case(CTD, "", "", ("--subject-column and --object-column", "--no-header")),
    "CTD with ends": Case(
        CTD,
        ENDS,
        "4 nodes, 2 edges",
        ("Gene and", "Disease", "Created 4"),
        edges="BRCA1 > breast cancer; TP53 > Li-Fraumeni",
        types="Gene Disease",
    ),
    "CTD with types": Case(
        CTD,
        f"{ENDS} --subject-type G --object-type D",
        "4 nodes, 2 edges",
        ("the type G and",),
        edges="BRCA1 > breast cancer; TP53 > Li-Fraumeni",
        types="G D",
    ),
    "an option twice": Case(CTD, f"{ENDS} --object-column x", "", ("is given 2 times",)),
    "Northwind": Case(
        PRODUCTS,
        "--id-column productID --edge-column categoryID=IN --id-prefix productID=product: "
        "--id-prefix categoryID=category:",
        "5 nodes, 3 edges",
        ("categoryID -> object", "for instance category:1, category:2"),
        edges="Chai -IN-> category:1; Chang -IN-> category:1; Syrup -IN-> category:2",
    ),
    "ids in another case and with blanks": Case(
        {
            "nodes.csv": "id,name\nAnn,A\nBob,B\n",
            "edges.csv": "source,target\nann,Bob\nAnn,New York\nAnn,New  York\n",
        },
        "",
        "5 nodes, 3 edges",
        (
            "Unicode form or a final .0 are different ids: 2, for instance",
            'for instance "Ann" and "ann", "New  York" and "New York".',
        ),
        edges="ann > B; A > New York; A > New  York",
    ),
    "ids in another Unicode form and as another number": Case(
        {
            "nodes.csv": "id,name\ncafe\u0301,A\n1,B\n",
            "edges.csv": "source,target\ncaf\u00e9,1.0\ncafe\u0301,1\n",
        },
        "",
        "4 nodes, 2 edges",
        (
            "Unicode form or a final .0 are different ids: 2,",
            r'for instance "1" and "1.0", "cafe\u0301" and "caf\u00e9".',
        ),
        edges="A > B; caf\u00e9 > 1.0",
    ),
    "Northwind in two tables": Case(
        SUPPLIERS,
        "--id-column products.csv=productID --id-column suppliers.csv=supplierID "
        "--id-prefix productID=p --id-prefix supplierID=s --edge-column supplierID=FROM "
        "--node-type products.csv=Product --node-type Supplier",
        "3 nodes, 2 edges",
        ("productID -> id", "supplierID -> object", "supplierID -> id", "company -> metadata"),
        edges="Chai -FROM-> s1; Chang -FROM-> s1",
        types="Product Supplier",
    ),
    "Northwind without columns": Case(
        SUPPLIERS,
        "",
        "3 nodes, 2 edges",
        ("nodes product, key productID", "-> suppliers"),
        edges="Chai -supplier-> suppliers:1; Chang -supplier-> suppliers:1",
        types="product supplier",
    ),
    "Northwind whose ids are equal": Case(
        SUPPLIERS,
        "--id-column products.csv=productID --id-column suppliers.csv=supplierID",
        "2 nodes, 0 edges",
        (
            "--name-column suppliers.csv=company",
            "--edge-column supplierID makes edges of it",
            "apart with --id-prefix productID=productID: --id-prefix supplierID=supplierID:",
        ),
        code=1,
    ),
    "Northwind with prefixes": Case(
        SUPPLIERS,
        "--id-column products.csv=productID --id-column suppliers.csv=supplierID "
        "--id-prefix productID=productID: --id-prefix supplierID=supplierID:",
        "3 nodes, 0 edges",
        ("--edge-column supplierID makes edges of it",),
        code=1,
    ),
    "a column that one table lacks": Case(
        SUPPLIERS,
        "--id-column suppliers.csv=productID",
        "",
        ("suppliers.csv: there is no column 'productID' (id_column)",),
    ),
    "two columns without files": Case(
        SUPPLIERS,
        "--id-column productID --id-column supplierID",
        "",
        ("name the file of each, --id-column [FILE=]TEXT",),
    ),
    "lists of ids": Case(
        {"c.csv": "ConceptID,Needs,Tax\n1,,M\n2,1,M\n3,1|2,M\n"},
        "--id-column ConceptID",
        "3 nodes, 0 edges",
        ("the column Needs holds ids of nodes: --edge-column Needs makes edges of it",),
        code=1,
    ),
    "flare": Case(
        FLARE, "", "4 nodes, 0 edges", ("--edge-column parent makes edges of it",), code=1
    ),
    "flare with edges": Case(
        FLARE,
        "--edge-column parent",
        "4 nodes, 3 edges",
        ("parent -> object",),
        edges="flare.a -parent-> flare; flare.b -parent-> flare; flare.a.x -parent-> flare.a",
    ),
    "flare in JSON": Case(
        FLARE_JSON, "", "3 nodes, 0 edges", ("There are no edges, although in flare.json",), code=1
    ),
    "flare in JSON with edges": Case(
        FLARE_JSON,
        "--edge-column parent",
        "3 nodes, 2 edges",
        ("parent -> object",),
        edges="query -parent-> flare; methods -parent-> query",
    ),
    "references in a column that is nowhere": Case(
        FLARE_JSON, "--edge-column parnet", "", ("there is no column 'parnet' (edge_columns)",)
    ),
    "schema.org": Case(
        {
            "types.csv": "id,label,subTypeOf\nhttp://s/A,A,\nhttp://s/B,B,\n"
            'http://s/C,C,"http://s/A, http://s/B"\n'
        },
        "--edge-column subTypeOf",
        "3 nodes, 2 edges",
        ("subTypeOf -> object",),
        edges="C -subTypeOf-> A; C -subTypeOf-> B",
    ),
    "Bieber": Case(
        {"bieber.csv": "source,target\nJustin, Selena\nSelena, Justin\nPattie, Justin\n"},
        "",
        "3 nodes, 3 edges",
        ("blanks around cells are removed",),
        edges="Justin > Selena; Selena > Justin; Pattie > Justin",
    ),
    "genes that merge": Case(
        {"genes.csv": "source,target,group\nA,B,g1\nA,B,g2\nA,B,g3\nB,C,g1\n"},
        "",
        "3 nodes, 2 edges",
        ("differ from it in group (3 values): with --predicate-column group",),
        edges="A > B; B > C",
    ),
    "genes apart": Case(
        {"genes.csv": "source,target,group\nA,B,g1\nA,B,g2\nA,B,g3\nB,C,g1\n"},
        "--predicate-column group",
        "3 nodes, 4 edges",
        (),
        edges="A -g1-> B; A -g2-> B; A -g3-> B; B -g1-> C",
    ),
    "descriptions as predicates": Case(
        {"e.csv": f"from,to,label\n{SENTENCES}"},
        "",
        "40 nodes, 40 edges",
        ("has 40 values in 40 edges, so it looks like a description",),
        edges="; ".join(f"n{n} -sentence {n} of the text-> n{n * 7 % 40}" for n in range(40)),
    ),
    "descriptions as metadata": Case(
        {"e.csv": f"from,to,label\n{SENTENCES}"},
        "--predicate-column ''",
        "40 nodes, 40 edges",
        ("label -> metadata",),
        edges="; ".join(f"n{n} > n{n * 7 % 40}" for n in range(40)),
    ),
    "nameless": Case(
        {"n.csv": "id,desc,code\n1,Atlanta,ATL\n2,Austin,AUS\n"},
        "",
        "2 nodes, 0 edges",
        ("its nodes have no names; text is in desc, code: --name-column desc",),
    ),
    "GraphML whose ids are names": Case(
        {
            "q.graphml": '<graphml><graph edgedefault="directed"><node id="Fox"/><node id="Penn"/>'
            '<edge source="Fox" target="Penn"/></graph></graphml>'
        },
        "",
        "2 nodes, 1 edge",
        ('edge source -> subject ("Fox")',),
        edges="Fox > Penn",
    ),
    "nameless GraphML": Case(
        {
            "air.graphml": '<graphml><key id="k" for="node" attr.name="desc"/><graph>'
            '<node id="1"><data key="k">Atlanta</data></node></graph></graphml>'
        },
        "",
        "1 node, 0 edges",
        ("its nodes have no names; text is in desc: --name-column desc",),
    ),
    "a folder": Case(
        {f"g/{name}": text for name, text in NEPTUNE.items()} | {"g/README.txt": "About\n"},
        "",
        "2 nodes, 1 edge",
        ("not read from its folder: README.txt",),
        edges="Atlanta -route-> Austin",
        types="airport",
    ),
    "several bad files": Case(
        {"a.csv": "a,b\n1,2\n", "b.xlsx": "x", "c.net": "*Vertices 1\n"},
        "",
        "",
        ("a.csv: no column is", "b.xlsx: is read by the keys of its tables", "read_pajek"),
    ),
    "semicolons and decimal commas": Case(
        {"e.csv": "from;to;w\na;b;0,5\n"},
        "",
        "2 nodes, 1 edge",
        ('w -> metadata ("0,5")',),
        edges="a > b",
    ),
    "edges in another case": Case(
        {"n.csv": "id,name\nann,Ann\nbob,Bob\n", "e.csv": "from,to\nANN,BOB\n"},
        "",
        "4 nodes, 1 edge",
        ("None of the 2 ids at the ends of edges is the id of a node",),
        edges="ANN > BOB",
    ),
}


@case_table("case", CASES)
def test_a_table_as_it_is_found(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in case.files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sources = sorted({Path(name).parts[0] for name in case.files})
    options = ["" if word == "''" else word for word in case.options.split()]
    result = CliRunner().invoke(bfsql, ["load", *sources, "--path", "g.db", *options])
    for part in case.report:
        assert part in result.output
    if case.size:
        assert f"g.db now holds {case.size}" in result.output
        assert result.exit_code == case.code
    else:
        assert result.exit_code == 2
        assert not Path("g.db").exists()
        return
    asyncio.run(check_graph(Path("g.db"), *case.graph()))


def test_a_rehearsal_names_ids_in_another_case_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("from,to\nann,bob\nAnn,bob\n")
    result = CliRunner().invoke(bfsql, ["load", "e.csv", "--dry-run"])
    assert 'a final .0 are different ids: 1, for instance "Ann" and "ann".' in result.output
    (tmp_path / "e.csv").write_text("from,to\ncaf\u00e9,1\ncafe\u0301,1.0\n")
    result = CliRunner().invoke(bfsql, ["load", "e.csv", "--dry-run"])
    assert r'ids: 2, for instance "1" and "1.0", "cafe\u0301" and "caf\u00e9".' in result.output


def test_types_that_melt_are_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "products.csv").write_text(PRODUCTS["products.csv"])
    (tmp_path / "categories.csv").write_text("categoryID,name\n1,Beverages\n")
    for table, column, type_ in (
        ("products.csv", "productID", "Product"),
        ("categories.csv", "categoryID", "Category"),
    ):
        options = ["--path", "g.db", "--append", "--id-column", column, "--node-type", type_]
        result = CliRunner().invoke(bfsql, ["load", table, *options])
    assert "of different types: 1, for instance 1 (Product, Category)" in result.output
    said = CliRunner().invoke(bfsql, ["describe-entity", "1", "--path", "g.db", "--json"])
    assert '"entity_type":"Product"' in said.output.replace(" ", "")


@case_table("suffix", list(CONVERSIONS))
def test_a_format_that_cannot_be_read_says_what_to_convert_it_with(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    path.write_text("source,target\na,b\n")
    with pytest.raises(ValueError, match=f"{suffix} files cannot be read: "):
        format_of(path, None)


def test_recognising_a_large_file_takes_no_longer_than_a_small_one(tmp_path):
    def seconds(lines):
        path = tmp_path / f"{lines}.txt"
        path.write_text("".join(f"{at} {at + 1}\n" for at in range(lines)))
        began = time.process_time()
        assert format_of(path, None) == "csv"
        return time.process_time() - began

    assert min(seconds(1_000_000) for _ in range(3)) < 5 * min(seconds(10_000) for _ in range(3))
