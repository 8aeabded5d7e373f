"""Presets: their values, the precedence of explicit settings, and the resulting requests."""

import tomllib
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from bfsql.errors import ConfigurationError
from bfsql.settings import options, resolve
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.request import query_request
from bfsql_sparql.settings import SparqlSettings, hint, with_preset

TABLES = tomllib.loads(files("bfsql_sparql").joinpath("presets.toml").read_text("utf-8"))
PUBLIC = ("dbpedia", "wikidata", "uniprot", "chembl")
SERVERS = (
    *("virtuoso", "fuseki", "graphdb", "stardog"),
    *("neptune", "qlever", "rdf4j", "oxigraph"),
)
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "sparql-presets.md"


def test_the_presets_are_those_that_the_help_names():
    [named] = [option.help for option in options(SparqlSettings) if option.field == "preset"]
    assert set(TABLES) == {*PUBLIC, *SERVERS}
    assert all(name in named for name in TABLES)


def test_each_preset_can_be_used_says_only_what_differs_and_is_on_its_page(each):
    plain, page = SparqlSettings(), PAGE.read_text("utf-8")
    for name in TABLES:
        with each(name):
            settings = with_preset(SparqlSettings(preset=name))
            assert (settings.endpoint is not None) == (name in PUBLIC)
            mapping = RdfMapping.of(settings)
            for ours in (mapping.labels, mapping.types, mapping.excluded):
                assert not any(one.startswith(settings.base) and "/" not in one for one in ours)
            assert (hint(settings) is not None) == (name in PUBLIC)
            for key in TABLES[name].keys() - {"hint"}:
                same = getattr(settings, key) == getattr(plain, key)
                assert not same or key in ("batch_size", "query_timeout"), key
            assert f"`{name}`" in page


def test_no_preset_named_changes_nothing():
    settings = SparqlSettings(endpoint="http://x.test/sparql")
    assert with_preset(settings) is settings
    assert hint(settings) is None


def test_explicit_settings_win_over_the_preset():
    given = SparqlSettings(
        preset="wikidata",
        endpoint="http://mirror.test/sparql",
        max_concurrent=4,
        distinct=True,
        type_property=["rdf:type"],
    )
    settings = with_preset(given)
    assert settings.endpoint == "http://mirror.test/sparql"
    assert settings.max_concurrent == 4
    assert settings.distinct
    assert settings.type_property == ["rdf:type"]
    assert settings.search == "wikidata"
    assert settings.preset == "wikidata"


def test_mappings_are_joined():
    settings = with_preset(SparqlSettings(preset="chembl", prefix={"x": "http://x.test/"}))
    assert settings.prefix["x"] == "http://x.test/"
    assert settings.prefix["cco"] == "http://rdf.ebi.ac.uk/terms/chembl#"
    own = with_preset(SparqlSettings(preset="chembl", prefix={"cco": "http://x.test/"}))
    assert own.prefix["cco"] == "http://x.test/"


def test_files_are_said_to_be_served_without_this_backend():
    with pytest.raises(ConfigurationError, match=r"--backend sparql: bfsql serve a\.ttl b\.nq"):
        resolve(SparqlSettings, options={"data": "a.ttl,b.nq"})


def test_a_file_holds_more_presets(tmp_path):
    file = tmp_path / "more.toml"
    file.write_text(
        '[ours]\nendpoint = "http://ours.test/sparql"\nbatch-size = 7\nhint = "Be kind."\n'
        '[dbpedia]\nendpoint = "http://mirror.test/sparql"\n'
    )
    ours = with_preset(SparqlSettings(preset="ours", preset_file=file))
    assert (ours.endpoint, ours.batch_size) == ("http://ours.test/sparql", 7)
    assert hint(ours) == "Be kind."
    mirror = with_preset(SparqlSettings(preset="dbpedia", preset_file=file))
    assert mirror.endpoint == "http://mirror.test/sparql"
    assert mirror.search == "auto"


def test_an_unknown_preset_is_reported_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"'dbpdia'; the presets are: chembl, dbpedia"):
        with_preset(SparqlSettings(preset="dbpdia"))


def test_a_file_that_cannot_be_used_is_reported(each, tmp_path):
    for text, said in [
        ("[ours\n", "cannot be read"),
        ("[ours]\nbatch = 7\n", "batch"),
        ("[ours]\nbatch_size = 0\n", "batch"),
        ('[ours]\npassword = "x"\n', "no preset may set"),
        ('ours = "http://x.test"\n', "no preset named 'ours'"),
    ]:
        with each(text, said):
            file = tmp_path / "more.toml"
            file.write_text(text)
            with pytest.raises(ConfigurationError, match=said):
                with_preset(SparqlSettings(preset="ours", preset_file=file))
            with pytest.raises(ConfigurationError, match="nowhere"):
                with_preset(SparqlSettings(preset="ours", preset_file=tmp_path / "nowhere.toml"))


def test_the_time_limit_goes_out_in_the_parameter_and_unit_of_the_server(each):
    sent = dict.fromkeys(("virtuoso", "dbpedia", "chembl", "stardog"), "6500")
    sent |= dict.fromkeys(("fuseki", "graphdb", "rdf4j"), "7")
    url = "http://graph.x.test/sparql"
    for name in TABLES:
        with each(name):
            settings = with_preset(SparqlSettings(preset=name, endpoint=url))
            made = query_request("ASK {}", settings, url, 6.5)
            fields = parse_qs(made.body.decode())
            limits = {key: value for key, value in fields.items() if "timeout" in key.lower()}
            assert limits == ({"timeout": [sent[name]]} if name in sent else {})
