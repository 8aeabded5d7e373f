"""The rules for every correct backend, and the code that checks them, without pytest.

findings = await judge_all(rules("filling"), Trial(fill=my_backend_with))
print(report.text(findings))
"""

from bfsql_testing.conformance import (  # noqa: F401 - rules, and what `bfsql.conformance` has
    answers,
    columns,
    health,
    isolation,
    nodes,
    outlines,
    query_language,
    records,
    report,
    search,
    store_access,
    streams,
    topology,
)
from bfsql_testing.conformance.capabilities import (
    EVERYTHING,
    Kind,
    OptOut,
    never,
    notimpl,
    notyet,
    storable,
)
from bfsql_testing.conformance.harness import (
    RULES,
    Broken,
    Fill,
    Mode,
    Open,
    Rule,
    Trial,
    Untried,
    rule,
    rules,
)
from bfsql_testing.conformance.runner import FAILED, Finding, Outcome, judge, judge_all

# The names of four modules in `bfsql.conformance`, as tests of backends import them.
asking, elements, operating, stores = query_language, topology, health, store_access

__all__ = [
    "EVERYTHING",
    "FAILED",
    "RULES",
    "Broken",
    "Fill",
    "Finding",
    "Kind",
    "Mode",
    "Open",
    "OptOut",
    "Outcome",
    "Rule",
    "Trial",
    "Untried",
    "judge",
    "judge_all",
    "never",
    "notimpl",
    "notyet",
    "query_language",
    "rule",
    "rules",
    "storable",
    "store_access",
    "topology",
]
