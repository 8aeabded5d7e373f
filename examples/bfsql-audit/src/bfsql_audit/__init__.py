"""One JSON line for every tool call."""

from bfsql_audit.plugin import Audit

__all__ = ["Audit"]
