"""The findings as text for a person, and as JSON for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bfsql.answers.clean import clean_text
from bfsql_testing.conformance.runner import FAILED, Finding, Outcome

WORDS: dict[Outcome, str] = {
    "holds": "ok",
    "broken": "BROKEN",
    "excused": "opted out",
    "needless": "NEEDLESS OPT-OUT",
    "unreachable": "STORE GONE",
    "untried": "not tried",
}
"""The words for an outcome."""

INDENT = 11
"""Columns before a behaviour and its reason; a longer word shifts them."""

MINOR: dict[str, str] = {
    "convention": "What is marked as a convention is customary; nothing fails without it.",
    "advice": "What is marked as advice would make answers better; the backend is right without "
    "it.",
}
"""By level: what it means if a rule that is not a duty is not kept."""


def word(finding: Finding) -> str:
    """The outcome of a finding in a word or two; its level if it is a violation of no duty."""
    return finding.rule.level if finding.minor else WORDS[finding.outcome]


def passed(findings: Sequence[Finding]) -> bool:
    """Whether something was tried and nothing failed."""
    tried = any(finding.outcome == "holds" for finding in findings)
    return tried and not any(f.outcome in FAILED and not f.minor for f in findings)


def text(findings: Sequence[Finding]) -> str:
    """A line per rule, with reasons below it, and the verdict."""
    every = [line for finding in findings for line in lines(finding)]
    odd = [f"unusual data: {clean_text(o)}" for o in oddities(findings)]
    return "\n".join([*every, *odd, verdict(findings)])


def verdict(findings: Sequence[Finding]) -> str:
    """One sentence: the backend is correct, or broken, or only its store is unusual."""
    counts = Counter(map(word, findings))
    parts = [f"{counts[one]} {one}" for one in (*WORDS.values(), *MINOR) if counts[one]]
    if any(f.outcome in ("broken", "needless") and not f.minor for f in findings):
        sentence = "The backend is broken: it violates rules that every backend has to satisfy."
    elif any(f.outcome == "unreachable" for f in findings):
        sentence = "The store stopped answering, so nothing is known about the backend."
    elif not any(f.outcome == "holds" for f in findings):
        sentence = "Nothing could be tested."
    elif oddities(findings):
        sentence = "The backend satisfies the rules; its store has unusual data."
    else:
        sentence = "The backend satisfies the rules."
    sentence = " ".join([sentence, *(told for level, told in MINOR.items() if counts[level])])
    return f"{sentence} ({', '.join(parts)})"


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings for a program, ready for JSON."""
    return {
        "passed": passed(findings),
        "verdict": verdict(findings),
        "oddities": oddities(findings),
        "rules": [
            {
                "id": f.rule.id,
                "behaviour": f.rule.behaviour,
                "source": f.rule.source,
                "level": f.rule.level,
                "outcome": f.outcome,
                "reason": f.reason,
                "oddities": list(f.oddities),
                "seconds": round(f.seconds, 3),
            }
            for f in findings
        ],
    }


def lines(finding: Finding) -> list[str]:
    """Outcome and behaviour; below them the reason, and where the rule comes from."""
    head = f"{word(finding):{INDENT - 1}} {finding.rule.behaviour}"
    if not finding.reason:
        return [head]
    source = [f"{' ' * INDENT}rule {finding.rule.id}; {finding.rule.source}"]
    failed = finding.outcome in FAILED
    return [head, f"{' ' * INDENT}{clean_text(finding.reason)}", *(source if failed else [])]


def oddities(findings: Sequence[Finding]) -> list[str]:
    """Unusual properties of the store, each once."""
    return list(dict.fromkeys(oddity for finding in findings for oddity in finding.oddities))
