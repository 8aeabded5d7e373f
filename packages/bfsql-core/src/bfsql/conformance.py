"""The conformance kit's rules without pytest: `bfsql_testing.conformance` and its modules."""

from bfsql.lazy import alias_of_kit

alias_of_kit(__name__, "conformance")
