"""The six operations, their parameters and their descriptions."""

from bfsql.call import Limits, third_of_bytes
from bfsql.query.vocabulary import Schema
from bfsql.tools.descriptions import TOOLS, ToolDefinition, definitions
from bfsql.tools.operations import Operations, translate_errors

__all__ = [
    "TOOLS",
    "Limits",
    "Operations",
    "Schema",
    "ToolDefinition",
    "definitions",
    "third_of_bytes",
    "translate_errors",
]
