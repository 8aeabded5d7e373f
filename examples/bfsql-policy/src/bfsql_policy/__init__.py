"""Refuse tools, redact metadata, prefer types: by three variables of the environment."""

from bfsql_policy.policy import Policy

__all__ = ["Policy"]
