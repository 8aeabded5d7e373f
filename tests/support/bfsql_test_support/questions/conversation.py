"""A conversation in which a model answers one question, with or without tools."""

import json
from typing import Any, NamedTuple, Protocol

from bfsql_test_support.questions.model import Model, ModelFailed
from bfsql_test_support.questions.toolsets import Call, CallRefused, Toolset

MARK = "ANSWER:"
WITH_TOOLS = "Answer the question from the graph alone, with as few tool calls as you can; you have"
WITHOUT_TOOLS = "Answer the question from what you know, or guess. It is about this graph:"
INSTRUCTIONS = """\
When you know the answer, end with one line that begins with "{mark}", followed by the answer as \
JSON: {form}. Write names exactly as the graph does."""


class ModelQuestion(Protocol):
    """A question for a model."""

    @property
    def kind(self) -> Any:
        """Its `name` in reports, the `form` of its answer, and a `hint` to that form."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def answer(self) -> Any:
        """The right answer, for the records."""

    def is_right(self, answer: Any) -> bool:
        """Whether an answer is right."""

    def f1(self, answer: Any) -> float:
        """F1 of the sets of values of an answer and of the right one."""


class Conversation(NamedTuple):
    """How a question was answered.

    Attributes:
        messages: All messages, in the model's format.
        answer: The JSON after the mark, or None.
        failed: Why there is no answer, if there is none.
        tokens: Of the prompts and of the replies, as the address counts them.
        without_reply: Whether the address sent no usable reply.
    """

    messages: list[dict[str, Any]]
    answer: Any
    failed: str
    tokens: tuple[int, int]
    without_reply: bool = False


async def converse(
    model: Model, tools: Toolset, schema: str, question: ModelQuestion, calls: int
) -> Conversation:
    """Have a model answer a question.

    Args:
        schema: The answer of the schema tool; without tools, what the graph is about.
        calls: Most calls that it may make.

    Raises:
        ModelUnusable: No question can be answered.
    """
    form = question.kind.form.value + (f", {question.kind.hint}" if question.kind.hint else "")
    end = INSTRUCTIONS.format(mark=MARK, form=form)
    if tool := tools.schema_tool:
        told = f"{WITH_TOOLS} {calls}. {end}\n\nWhat {tool} answers for this graph:\n{schema}"
        told = f"{tools.instructions}\n\n{told}".lstrip()
    else:
        told, calls = f"{WITHOUT_TOOLS} {schema} {end}", 0
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": told},
        {"role": "user", "content": question.text},
    ]
    offered, left, tokens = functions(tools), calls, (0, 0)
    while True:
        try:
            reply = await model.reply(messages, offered if left > 0 else [])
        except ModelFailed as failure:
            return Conversation(messages, None, str(failure), tokens, without_reply=True)
        tokens = (tokens[0] + reply.prompt_tokens, tokens[1] + reply.completion_tokens)
        messages.append(reply.message)
        asked = reply.message.get("tool_calls") or []
        if not asked or left <= 0:
            answer, failed = answer_in(str(reply.message.get("content") or ""))
            return Conversation(messages, answer, failed, tokens)
        for one in asked:
            text = await _called(tools, one) if left > 0 else "There are no calls left. Answer now."
            messages.append({"role": "tool", "tool_call_id": one.get("id"), "content": text})
            left -= 1


def functions(tools: Toolset) -> list[dict[str, Any]]:
    """The definitions of tools as the protocol has them."""
    found = []
    for one in tools.definitions():
        told = {"description": one.description, "parameters": one.input_schema}
        found.append({"type": "function", "function": {"name": one.name, **told}})
    return found


async def _called(tools: Toolset, asked: dict[str, Any]) -> str:
    """The text of the answer to a call, or of its error."""
    function = asked.get("function") or {}
    name, raw = str(function.get("name")), function.get("arguments") or "{}"
    try:
        arguments = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        text = f"The arguments of {name} are no JSON object."
        tools.calls.append(Call(name, len(str(raw)), len(text)))
        return text
    try:
        return await tools.run(name, arguments)
    except CallRefused as refused:
        return str(refused)


def answer_in(content: str) -> tuple[Any, str]:
    """The answer in the last message of a model, and why there is none."""
    _, mark, told = content.rpartition(MARK)
    if not mark:
        return None, f"no line begins with {MARK}"
    try:
        found = told.lstrip("*` \n").removeprefix("json").lstrip()
        return json.JSONDecoder().raw_decode(found)[0], ""
    except ValueError:
        return None, f"no JSON behind {MARK}"


def judged(question: ModelQuestion, answer: Any) -> tuple[bool, float]:
    """Whether an answer is right, and its F1."""
    try:
        right = question.is_right(answer)
        return right, 1.0 if right else question.f1(answer)
    except (TypeError, ValueError):  # lists of objects, and the like
        return False, 0.0
