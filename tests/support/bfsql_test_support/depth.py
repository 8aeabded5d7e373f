"""How deep the tests go: `nox -s thorough` sets `BFSQL_THOROUGH`, for runs that may take hours."""

import os

THOROUGH = bool(os.environ.get("BFSQL_THOROUGH"))
"""Whether to run what everyday runs leave out, since it rarely finds more."""

KIT_OF_EXAMPLES = () if THOROUGH else ("-k", "not the_bytes_of_the_reference")
"""Options of pytest for the kit on backends that are examples; all have its drawn graphs."""
