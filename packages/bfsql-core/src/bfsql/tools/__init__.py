"""The six operations, and what is written down about them."""

from bfsql.settings.server import STRIPPED, Estimator, Limits, third_of_bytes
from bfsql.tools.definitions import TOOLS, ToolDefinition, definitions
from bfsql.tools.operations import Operations
from bfsql.tools.parameters import PARAMETERS, Parameter
from bfsql.tools.run import run, told
from bfsql.tools.vocabulary import Schema

__all__ = [
    "PARAMETERS",
    "STRIPPED",
    "TOOLS",
    "Estimator",
    "Limits",
    "Operations",
    "Parameter",
    "Schema",
    "ToolDefinition",
    "definitions",
    "run",
    "third_of_bytes",
    "told",
]
