"""Answers that pass the SDK as marks, over HTTP."""

from typing import Any

from bfsql.answers import list_answer
from bfsql.server.passage import with_passages


async def test_a_response_has_its_new_length_and_all_other_headers():
    answer, sent = list_answer([{"id": "\u00e9"}], []), list[Any]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        (passage,) = scope.values()
        result = passage.result(answer, structured=True)
        body = result.model_dump_json(by_alias=True, exclude_none=True).encode()
        headers = [(b"vary", b"a"), (b"content-length", b"%d" % (len(body) + 3)), (b"vary", b"b")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"\n\n\n"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {}
    await with_passages(app)(scope, None, send)
    start, *parts = sent
    whole = b"".join(part["body"] for part in parts)
    assert answer.content_text.encode() in whole
    assert start["headers"] == [
        (b"vary", b"a"),
        (b"content-length", b"%d" % len(whole)),
        (b"vary", b"b"),
    ]
    assert scope == {}
