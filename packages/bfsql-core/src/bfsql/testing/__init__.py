"""The conformance kit as pytest classes; comes with `pip install bfsql-core[testing]`."""

from bfsql.conformance import Kind, never, notimpl, notyet
from bfsql.testing.suite import BackendSuite

__all__ = ["BackendSuite", "Kind", "never", "notimpl", "notyet"]
