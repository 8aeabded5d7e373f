"""Hook plugins for tests of core: they record calls, fail, hide, refuse or rerank."""

from typing import Any

from bfsql.plugins import hookimpl

HOOKS = ("watch_call", "refuse_call", "redact_metadata", "rerank_candidates", "cli_commands")


class Watcher:
    """Records every call that it is notified of."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    @hookimpl
    def watch_call(
        self, tool: str, arguments: Any, caller: Any, outcome: Any, seconds: float
    ) -> None:
        self.seen.append(
            {
                "tool": tool,
                "arguments": arguments,
                "caller": caller,
                "outcome": outcome,
                "seconds": seconds,
            }
        )


class Failing:
    """Raises in every hook."""

    @hookimpl
    def watch_call(self) -> None:
        raise RuntimeError("broken watcher")

    @hookimpl
    def refuse_call(self) -> None:
        raise RuntimeError("broken policy")

    @hookimpl
    def redact_metadata(self) -> None:
        raise RuntimeError("broken redaction")

    @hookimpl
    def rerank_candidates(self) -> None:
        raise RuntimeError("broken order")

    @hookimpl
    def cli_commands(self) -> None:
        raise RuntimeError("broken commands")


class Hiding:
    """Redacts metadata with a function.

    Args:
        redact: Returns, for a kind, key and metadata, what may be shown.
    """

    def __init__(self, redact: Any) -> None:
        self._redact = redact

    @hookimpl
    def redact_metadata(self, kind: str, key: Any, metadata: dict[str, Any]) -> Any:
        return self._redact(kind, key, metadata)


class Refusing:
    """Returns a fixed verdict from `refuse_call`, asynchronously."""

    def __init__(self, verdict: Any) -> None:
        self._verdict = verdict

    @hookimpl
    async def refuse_call(self, tool: str) -> Any:
        return self._verdict


class Ranking:
    """Reranks candidates with a function."""

    def __init__(self, rank: Any) -> None:
        self._rank = rank

    @hookimpl
    def rerank_candidates(self, candidates: Any) -> Any:
        return self._rank(candidates)
