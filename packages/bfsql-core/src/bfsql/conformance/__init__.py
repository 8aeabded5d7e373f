"""The rules that every right backend keeps, and what tries them; no pytest here.

findings = await judge_all(rules("filling"), Trial(fill=my_backend_with))
print(report.text(findings))
"""

from bfsql.conformance.catalogue import RULES, rules
from bfsql.conformance.judge import FAILED, Finding, Outcome, judge, judge_all
from bfsql.conformance.keeps import EVERYTHING, Kind, kept
from bfsql.conformance.optout import OptOut, never, notimpl, notyet
from bfsql.conformance.rule import Broken, Mode, Rule, Untried, rule
from bfsql.conformance.trial import Fill, Open, Trial

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
    "kept",
    "never",
    "notimpl",
    "notyet",
    "rule",
    "rules",
]
