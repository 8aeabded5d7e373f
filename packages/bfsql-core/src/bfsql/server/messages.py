"""What the graph says, in the words of MCP: listed tools, answers, refusals."""

from __future__ import annotations

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from bfsql.answers.answer import Answer
from bfsql.errors import ToolError
from bfsql.tools.definitions import ToolDefinition


def listed(definition: ToolDefinition, *, structured: bool) -> Tool:
    """A tool as a client lists it: reads only, always the same answer, closed world.

    Args:
        definition: Name, texts and schemas, computed from the open graph.
        structured: Whether answers carry structured content. Without it no
            output schema is published, since a client would check for it.
    """
    return Tool(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=definition.output_schema if structured else None,
        annotations=ToolAnnotations(
            title=definition.title,
            read_only_hint=True,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )


def answered(answer: Answer, *, structured: bool) -> CallToolResult:
    """An answer: its text blocks, and the same as structured content where that is wanted."""
    return CallToolResult(
        content=[TextContent(type="text", text=block) for block in answer.blocks],
        structured_content=answer.content if structured else None,
    )


def refused(error: ToolError) -> CallToolResult:
    """A refusal, for the model to read (`protocol.md` 12).

    The sentence may quote what the client sent; a lone surrogate in it could
    not be encoded, and would end the connection.
    """
    sentence = str(error).encode("utf-8", "replace").decode("utf-8")
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)
