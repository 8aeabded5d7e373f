"""Helpers for tests of the six tools: drawn graphs, observable backends and checked answers."""
