"""The rules for every correct backend, and the code that checks them, without pytest.

findings = await judge_all(rules("filling"), Trial(fill=my_backend_with))
print(report.text(findings))
"""

from bfsql.conformance import (
    answers,
    asking,
    columns,
    elements,
    isolation,
    operating,
    outlines,
    records,
    search,
    stores,
    streams,
)
from bfsql.conformance.capabilities import (
    EVERYTHING,
    Kind,
    OptOut,
    kept,
    never,
    notimpl,
    notyet,
)
from bfsql.conformance.harness import (
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
from bfsql.conformance.runner import FAILED, Finding, Outcome, judge, judge_all

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
    "answers",
    "asking",
    "columns",
    "elements",
    "isolation",
    "judge",
    "judge_all",
    "kept",
    "never",
    "notimpl",
    "notyet",
    "operating",
    "outlines",
    "records",
    "rule",
    "rules",
    "search",
    "stores",
    "streams",
]
