"""The six operations, for programs that do not speak MCP."""

from __future__ import annotations

from bfsql.answers import Answer, encode
from bfsql.rest.api import Api
from bfsql.rest.asked import Asked
from bfsql.rest.reply import Reply


async def run(api: Api, asked: Asked) -> Reply:
    """`POST /tools/{name}`: the tool's answer, checked, watched and refused as over MCP."""
    asked.only("A tool's path", ())
    answer = await api.graph.call(asked.path[0], asked.body, caller=asked.caller)
    return Reply(_content(answer))


def _content(answer: Answer) -> bytes:
    """An object as it is; a list under `result`, since beside it stand notes (`protocol.md` 20)."""
    if not answer.text.startswith("["):
        return answer.text.encode()
    notes = b',"notes":' + encode(list(answer.notes)) if answer.notes else b""
    return b'{"result":' + answer.text.encode() + notes + b"}"
