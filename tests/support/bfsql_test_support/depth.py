"""How deep the tests go: `nox -s thorough` sets `BFSQL_THOROUGH`, for runs that may take hours."""

import os

THOROUGH = bool(os.environ.get("BFSQL_THOROUGH"))
"""Whether to run what everyday runs leave out, since it rarely finds more."""

_FEWER = () if THOROUGH else ("-k", "not the_bytes_of_the_reference")
KIT_OF_EXAMPLES = ("-p", "no:schemathesis", *_FEWER)
"""Options of pytest for the kit on backends that are examples; all have its drawn graphs."""
