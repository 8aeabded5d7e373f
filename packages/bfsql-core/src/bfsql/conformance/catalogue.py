"""Every rule of this core: importing the rooms of checks is what registers them."""

from __future__ import annotations

from bfsql.conformance import filling, reading
from bfsql.conformance.rule import RULES, Mode, Rule

__all__ = ["RULES", "filling", "reading", "rules"]


def rules(*modes: Mode) -> list[Rule]:
    """The rules of these modes, or all of them, in the order of the report."""
    return [rule for rule in RULES.values() if not modes or rule.mode in modes]
