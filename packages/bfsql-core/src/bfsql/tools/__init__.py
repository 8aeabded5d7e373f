"""The six operations, their parameters and their descriptions."""

from bfsql.call import STRIPPED, Estimator, Limits, third_of_bytes
from bfsql.tools.descriptions import TOOLS, ToolDefinition, definitions
from bfsql.tools.operations import Operations, translate_errors
from bfsql.tools.parameters import PARAMETERS, Parameter
from bfsql.tools.schema import Schema

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
    "third_of_bytes",
    "translate_errors",
]
