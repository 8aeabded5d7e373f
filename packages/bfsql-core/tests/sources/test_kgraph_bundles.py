"""kgraph bundles: the real one, and faulty ones."""

import json

import pytest

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.sources import open_source

ENTITIES = [{"entity_id": "A:1", "entity_type": "x", "name": "One", "total_mentions": 1}]
RELATIONSHIPS = [{"subject_id": "A:1", "predicate": "P", "object_id": "B:2"}]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def bundle(write, tmp_path, sort_out):
    def made(entities=ENTITIES, relationships=RELATIONSHIPS, **more):
        write("kg/entities.jsonl", lines(entities))
        write("kg/relationships.jsonl", lines(relationships))
        for name, records in more.items():
            write(f"kg/{name}.jsonl", lines(records))
        return sort_out(open_source(tmp_path / "kg"))

    return made


def test_medlit_has_its_counts_and_refuses_nothing(medlit, sort_out):
    found = sort_out(open_source(medlit))
    assert (len(found.nodes), len(found.edges)) == (1900, 2184)
    assert len({node.entity_type for node in found.nodes}) == 19
    assert len({edge.predicate for edge in found.edges}) == 16
    assert found.refusals == []


def test_every_evidence_line_of_medlit_belongs_to_a_relationship(medlit, sort_out):
    found = sort_out(open_source(medlit))
    from_lines = [e for e in found.evidence if "supports" in e.item]
    assert len(from_lines) == 587
    triples = set(found.triples)
    assert all((e.subject, e.predicate, e.object) in triples for e in found.evidence)


def test_medlit_entity_keeps_its_fields_and_its_synonyms(medlit, sort_out):
    found = sort_out(open_source(medlit))
    (metadata,) = found.metadata("DBPedia:Cushing's_disease")
    assert metadata["name"] == "Cushing disease"
    assert metadata["synonyms"] == ["CD"]
    assert metadata["total_mentions"] == 44
    assert "entity_id" not in metadata
    assert None not in found.metadata("RxNorm:3251")[0].values()


def test_merged_entities_are_left_out(bundle):
    merged = {"entity_id": "A:9", "entity_type": "x", "status": "merged"}
    assert [node.id for node in bundle([*ENTITIES, merged]).nodes] == ["A:1"]


def test_properties_stand_beside_own_fields_and_lose_none(bundle):
    entity = {"entity_id": "A", "entity_type": "x", "name": "own"}
    entity["properties"] = {"name": "other", "synonyms": ["a"], "colour": "red", "none": None}
    (node,) = bundle([entity]).nodes
    assert node.metadata == {
        "name": "own",
        "properties.name": "other",
        "synonyms": ["a"],
        "colour": "red",
    }


def test_aliases_of_both_places_are_one_list(bundle):
    both = {"entity_id": "A", "synonyms": ["x", "y"], "properties": {"synonyms": ["y", "z"]}}
    empty = {"entity_id": "B", "synonyms": [], "properties": {"synonyms": ["z"]}}
    one, other = bundle([both, empty]).nodes
    assert one.metadata == {"synonyms": ["x", "y", "z"]}
    assert other.metadata == {"synonyms": ["z"]}


def test_provenance_becomes_evidence_with_the_only_document(bundle):
    passages = [
        {"section": "abstract", "sentence": "It does.", "citation_markers": []},
        {"section": None, "sentence": "So it does.", "citation_markers": ["[1]"]},
    ]
    one = {**RELATIONSHIPS[0], "source_documents": ["D1"], "properties": {"provenance": passages}}
    two = {**one, "source_documents": ["D1", "D2"]}
    found = bundle(relationships=[one, two])
    assert [e.item for e in found.evidence] == [
        {"document_id": "D1", "section": "abstract", "text_span": "It does."},
        {"document_id": "D1", "text_span": "So it does.", "citation_markers": ["[1]"]},
        {"section": "abstract", "text_span": "It does."},
        {"text_span": "So it does.", "citation_markers": ["[1]"]},
    ]
    assert found.edges[0] == EdgeRecord("A:1", "P", "B:2", {"source_documents": ["D1"]})


def test_keys_split_at_a_known_predicate_though_ids_hold_colons_and_slashes(bundle):
    there = {"subject_id": "http://x/a:b", "predicate": "b:p", "object_id": "y/z:1:2"}
    evidence = {"relationship_key": "http://x/a:b:b:p:y/z:1:2", "text_span": "t"}
    found = bundle(relationships=[there], evidence=[evidence])
    assert found.evidence == [EvidenceRecord("http://x/a:b", "b:p", "y/z:1:2", {"text_span": "t"})]


def test_of_several_splits_the_one_that_is_a_relationship_is_taken(bundle):
    there = {"subject_id": "A:P:B", "predicate": "P", "object_id": "C"}
    evidence = {"relationship_key": "A:P:B:P:C", "text_span": "t"}
    found = bundle(relationships=[*RELATIONSHIPS, there], evidence=[evidence])
    assert found.evidence == [EvidenceRecord("A:P:B", "P", "C", {"text_span": "t"})]


def test_a_key_without_a_known_predicate_is_refused(bundle):
    found = bundle(evidence=[{"relationship_key": "A:1:Q:B:2"}, {"text_span": "t"}])
    assert [line for line, _ in found.reasons] == [1, 2]
    assert "'A:1:Q:B:2'" in found.reasons[0][1]
    assert found.reasons[1][1] == "relationship_key is missing"


def test_broken_json_in_line_7_is_refused_and_reading_goes_on(write, tmp_path, sort_out):
    good = [{"entity_id": f"A:{i}", "entity_type": "x"} for i in range(9)]
    written = lines(good).splitlines(keepends=True)
    written[6] = '{"entity_id": "A:6", \n'
    write("kg/entities.jsonl", "".join(written))
    write("kg/relationships.jsonl", lines(RELATIONSHIPS))
    found = sort_out(open_source(tmp_path / "kg"))
    assert len(found.nodes) == 8
    (refusal,) = found.refusals
    assert (refusal.path, refusal.line) == (tmp_path / "kg" / "entities.jsonl", 7)
    assert "is not JSON" in str(refusal)


def test_fields_of_the_wrong_kind_are_refused(bundle):
    found = bundle(
        [
            {"entity_id": ["A"]},
            {"entity_id": "\ud800"},
            {"entity_id": "A", "name": {}},
            {"entity_id": "A", "synonyms": 5},
            {"entity_id": "A", "properties": []},
            {"entity_id": "A", "name": "half a \ud800"},
        ]
    )
    assert [line for line, _ in found.reasons] == [1, 2, 3, 4, 5]
    assert found.nodes == [NodeRecord("A", "", {"name": "half a \ufffd"})]


def test_mentions_count_only_for_entities_without_counts(bundle):
    entities = [
        {"entity_id": "A", "total_mentions": 5, "supporting_documents": ["D"]},
        {"entity_id": "B"},
        {"entity_id": "C"},
    ]
    mentions = [{"entity_id": id_, "document_id": d} for id_, d in ("AD", "BE", "BD", "BD")]
    found = bundle(entities, mentions=mentions)
    assert found.nodes[3:] == [
        NodeRecord("B", "", {"total_mentions": 3, "supporting_documents": ["D", "E"]})
    ]


def test_the_manifest_names_the_files(write, tmp_path, sort_out):
    manifest = {"entities": {"path": "e.jsonl"}, "relationships": {"path": "r.jsonl"}}
    write("kg/manifest.json", json.dumps(manifest))
    write("kg/e.jsonl", lines(ENTITIES))
    write("kg/r.jsonl.gz", lines(RELATIONSHIPS))
    found = sort_out(open_source(tmp_path / "kg"))
    assert (len(found.nodes), len(found.edges)) == (1, 1)


def test_a_manifest_leads_to_no_file_outside_of_the_bundle(write, tmp_path):
    write("secret.jsonl", "{}")
    write("kg/manifest.json", '{"entities": {"path": "../secret.jsonl"}}')
    with pytest.raises(SourceError, match="outside the bundle"):
        open_source(tmp_path / "kg")


def test_a_broken_manifest_is_named(write, tmp_path):
    write("kg/manifest.json", "{")
    with pytest.raises(SourceError, match=r"manifest\.json: is not JSON"):
        open_source(tmp_path / "kg")


def test_a_bundle_without_relationships_says_so_at_once(write, tmp_path):
    write("kg/entities.jsonl", lines(ENTITIES))
    with pytest.raises(SourceError, match=r"no relationships\.jsonl"):
        open_source(tmp_path / "kg")
