"""The conformance kit's pytest classes, `bfsql_testing.suite`, as backends' tests import them."""

from bfsql.lazy import alias_of_kit

alias_of_kit(__name__, "suite")
