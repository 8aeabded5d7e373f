"""Graph files made to exhaust a parser, each with the words of its refusal; and honest ones."""

from __future__ import annotations

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/"'


def rdf_xml(text: str, doctype: str = "", attributes: str = "") -> bytes:
    """RDF/XML with one literal: the metadata `p` of the node `e:a`."""
    return (
        f'<?xml version="1.0"?>\n{doctype}\n<rdf:RDF {RDF} {attributes}>'
        f'<rdf:Description rdf:about="http://e.org/a"><e:p>{text}</e:p></rdf:Description></rdf:RDF>'
    ).encode()


def doctype(declarations: str, external: str = "") -> str:
    return f"<!DOCTYPE rdf:RDF {external} [{declarations}]>"


def entity(name: str, value: str) -> str:
    return f'<!ENTITY {name} "{value}">'


def statement(term: str) -> bytes:
    return f"<http://e.org/a> <http://e.org/p> {term} .\n".encode()


def graph_xml(root: str, inside: str) -> bytes:
    return f'<{root}><graph><nodes/><node id="a">{inside}</node></graph></{root}>'.encode()


_NESTED = entity("l0", "lol") + "".join(entity(f"l{n}", f"&l{n - 1};" * 10) for n in range(1, 10))
_EVERY = "".join(entity(f"n{number}", f"{number:03}" * 300) for number in range(100))
_HIDDEN = entity("a", "x" * 900)
_ATTRIBUTES = " ".join(f'e:p{number}="&a;"' for number in range(20_000))
_DEEP = 20_000
_STAR = "<<( <http://e.org/a> <http://e.org/p> " * _DEEP + "<http://e.org/b> " + ")>> " * _DEEP
_QUOTED = "<< <http://e.org/a> <http://e.org/p> " * _DEEP + "<http://e.org/b> " + ">> " * _DEEP
_TRIPLE = '<e:p rdf:parseType="Triple"><rdf:Description rdf:about="http://e.org/a">' * _DEEP
_LONG = "x" * 70_000
_HUGE = "x" * ((32 << 20) + 2_000_000)

NESTED_ENTITIES = rdf_xml("&l9;", doctype(_NESTED))
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "nested entities": ("a.rdf", NESTED_ENTITIES, "'l1', which refers to another"),
    "nested entities in UTF-16": (
        "a.owl",
        NESTED_ENTITIES.decode().encode("utf-16"),
        "'l1', which refers to another",
    ),
    "an ampersand as a number": (
        "a.rdf",
        rdf_xml("&b;", doctype(entity("a", "x") + entity("b", "&#x26;a;&#38;a;"))),
        "'b', which refers to another",
    ),
    "one entity, used often": (
        "a.rdf",
        rdf_xml("&a;" * 100_000, doctype(entity("a", "x" * 60_000))),
        "'a' with 60,000 characters",
    ),
    "a short entity, used often": (
        "a.rdf",
        rdf_xml("&a;" * 20_000, doctype(entity("a", "x" * 1_000))),
        "has entities that make it larger than 16 MB",
    ),
    "an entity in attributes": (
        "a.rdf",
        rdf_xml(f"<e:n {_ATTRIBUTES}/>", doctype(_HIDDEN)),
        "has entities that make it larger than 16 MB",
    ),
    "an entity of elsewhere in an attribute": (
        "a.rdf",
        rdf_xml("x", doctype("", 'SYSTEM "e.dtd"'), 'e:x="&lt;&a;"'),
        "the entity 'a', which it does not declare",
    ),
    "an entity of elsewhere": (
        "a.rdf",
        rdf_xml("&a;", doctype("", 'SYSTEM "e.dtd"')),
        "the entity 'a', which it does not declare",
    ),
    "an external entity": (
        "a.rdf",
        rdf_xml("&a;", doctype('<!ENTITY a SYSTEM "file:///etc/passwd">')),
        "declares an external entity",
    ),
    "a parameter entity": (
        "a.rdf",
        rdf_xml("x", doctype('<!ENTITY % a "x">')),
        "declares a parameter entity",
    ),
    "many entities": ("a.rdf", rdf_xml("x", doctype(_EVERY)), "entities of more than 64 kB"),
    "deep elements": (
        "a.rdf",
        rdf_xml("<e:a><e:b>" * _DEEP + "</e:b></e:a>" * _DEEP),
        "nests elements more than 1,000 deep",
    ),
    "deep terms in RDF/XML": ("a.rdf", rdf_xml(_TRIPLE), "nests elements more than 1,000 deep"),
    "a long text in RDF/XML": ("a.rdf", rdf_xml(_HUGE), "a text longer than 32 MB"),
    "a long namespace in RDF/XML": (
        "a.rdf",
        rdf_xml("x", "", f'xmlns:x="http://{_LONG}"'),
        "declares xmlns:x longer than 1,000",
    ),
    "a long IRI in RDF/XML": (
        "a.rdf",
        rdf_xml(f'<e:n rdf:about="http://{_LONG}"/>'),
        "an IRI longer than 64 kB",
    ),
    "a long base in RDF/XML": (
        "a.rdf",
        rdf_xml("x", "", f'xml:base="http://{_LONG}"'),
        "declares xml:base longer than 1,000",
    ),
    "deep terms in Turtle": ("a.ttl", statement(_STAR), "nests RDF-star terms more than 1,000"),
    "deep terms in TriG": ("a.trig", statement(_STAR), "nests RDF-star terms more than 1,000"),
    "deep terms in N-Triples": ("a.nt", statement(_STAR), "nests RDF-star terms more than 1,000"),
    "deep terms in N-Quads": ("a.nq", statement(_STAR), "nests RDF-star terms more than 1,000"),
    "deep quoted statements": ("a.ttl", statement(_QUOTED), "nests RDF-star terms more than 1,000"),
    "a long IRI in N-Triples": ("a.nt", statement(f"<http://{_LONG}>"), "longer than 64 kB"),
    "a long IRI in Turtle": ("a.ttl", statement(f"<http://{_LONG}>"), "longer than 64 kB"),
    "a long literal in Turtle": ("a.ttl", statement(f'"""{_HUGE}"""'), "a literal longer than"),
    "a long literal in N-Triples": ("a.nt", statement(f'"{_HUGE}"'), "a literal longer than"),
    "a long namespace in Turtle": (
        "a.ttl",
        f"@prefix e: # a comment\n <http://{_LONG[:2_000]}> .\n".encode() + statement("e:b"),
        "declares a namespace longer than 1,000",
    ),
    "a long context in JSON-LD": (
        "a.jsonld",
        f'{{"@context": {{"e": "http://{_LONG}"}}, "@id": "http://e.org/a"}}'.encode(),
        "the limit is 1,000",
    ),
    "deep elements in GraphML": (
        "a.graphml",
        graph_xml("graphml", "<x>" * _DEEP + "</x>" * _DEEP),
        "nests elements more than 1,000 deep",
    ),
    "deep elements in GEXF": (
        "a.gexf",
        graph_xml("gexf", "<x>" * _DEEP + "</x>" * _DEEP),
        "nests elements more than 1,000 deep",
    ),
    "nested entities in GraphML": (
        "a.graphml",
        NESTED_ENTITIES.replace(b"rdf:RDF", b"graphml"),
        "declares a document type",
    ),
    "nested entities in GEXF": (
        "a.gexf",
        NESTED_ENTITIES.replace(b"rdf:RDF", b"gexf"),
        "declares a document type",
    ),
}
"""By what is hostile: the name of a file, its content, and words of its refusal."""

ABORTS = ("one entity, used often", "deep terms in N-Triples", "nested entities")
"""Those that ended or hung whole processes."""

BOMB_TEXT = NESTED_ENTITIES.decode().partition("\n")[2]
_NAMESPACES = doctype(
    '\n<!ENTITY owl "http://www.w3.org/2002/07/owl#" >\n'
    '<!-- <!ENTITY old "http://e.org/old#" > -->\n<!ENTITY e "http://e.org/" >\n'
)
_CDATA = f"<![CDATA[{BOMB_TEXT}]]>"

HONEST: dict[str, tuple[str, bytes, str]] = {
    "namespaces as entities": (
        "a.owl",
        rdf_xml("&owl;Class", _NAMESPACES),
        "http://www.w3.org/2002/07/owl#Class",
    ),
    "namespaces as entities, in UTF-16": (
        "a.owl",
        rdf_xml("&e;x", _NAMESPACES).decode().encode("utf-16"),
        "http://e.org/x",
    ),
    "an entity declared twice": (
        "a.rdf",
        rdf_xml("&a;", doctype(entity("a", "first") + entity("a", "second"))),
        "first",
    ),
    "entities in a comment of the DOCTYPE": (
        "a.rdf",
        rdf_xml("x", doctype(f"<!-- {_NESTED} -->")),
        "x",
    ),
    "a text of several lines, of Windows": ("a.rdf", rdf_xml("x\r\ny&#13;"), "x\ny\r"),
    "an external DTD": ("a.rdf", rdf_xml("x", doctype("", 'SYSTEM "e.dtd"')), "x"),
    "a DOCTYPE in CDATA": ("a.rdf", rdf_xml(_CDATA), BOMB_TEXT),
    "a DOCTYPE in comments": (
        "a.rdf",
        rdf_xml(f"x<!-- {BOMB_TEXT} -->", f"<!-- {BOMB_TEXT} -->"),
        "x",
    ),
    "a DOCTYPE in a literal": ("a.ttl", statement(f'"""{BOMB_TEXT}"""'), BOMB_TEXT),
    "arrows in literals and comments": (
        "a.ttl",
        statement(f"'{'<<' * 5_000}' # {'<<' * 5_000} \" ''' \n"),
        "<<" * 5_000,
    ),
    "arrows in a literal of a line": (
        "a.nt",
        statement('"' + '<<\\"\\\\' * 5_000 + '"'),
        '<<"\\' * 5_000,
    ),
    "a literal of 4 MB with 600,000 references": (
        "a.rdf",
        rdf_xml("&amp;ab" * 600_000),
        "&ab" * 600_000,
    ),
    "a literal of 9 MB": (
        "a.nt",
        statement(f'"{"abc defg " * 1_000_000}"'),
        "abc defg " * 1_000_000,
    ),
    "a long literal in long quotes": (
        "a.ttl",
        statement("'''" + "it's \"\" a 'long' <text\\\\> # \n" * 20_000 + "'''"),
        "it's \"\" a 'long' <text\\> # \n" * 20_000,
    ),
}
"""By what is remarkable: the name of a file, its content, and the value of the literal in it."""
