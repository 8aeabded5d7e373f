"""Every error that the project raises on purpose.

The model reads `ToolError` as the answer to its call; the operator reads all
others on standard error. Each class takes facts and composes the message itself:
what happened, with which value, what would be right, and what to do next
(`protocol.md` 12). A program tells errors apart by their classes, and by the
`kind` of a `ToolError`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Literal

from bfsql.masking import hide_secrets


class BfsqlError(Exception):
    """Base class of all errors that BFS-QL raises on purpose."""


def system_reason(error: Exception) -> str:
    """Why a file could not be used, as worded by the system, or by Python for an invalid path.

    Args:
        error: An `OSError`, or the `ValueError` of a path that contains NUL.
    """
    return str(getattr(error, "strerror", None) or error)


def network_reason(error: OSError | None) -> str:
    """Why a server is unreachable; asyncio's own text would repeat the address."""
    number = (error and error.errno) or 0
    return os.strerror(number) if number > 0 else (error and error.strerror) or ""


def listing(names: Sequence[str], most: int, separator: str = ", ", noun: str = "") -> str:
    """The first names, and the number of further ones, as in `a, b and 3 more`."""
    more = f" and {len(names) - most} more{noun}" if len(names) > most else ""
    return separator.join(names[:most]) + more


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean ...?` with the known names that a wrong one begins, or the ones most like it.

    A name is also compared with the words of names with hyphens. The text is empty if no name is
    close.
    """
    import difflib  # needed by errors alone

    names = list(known)
    close = [one for one in names if name and one.startswith(name)][:3]
    if not close:
        words = {word for one in names for word in (one, *one.split("-"))}
        like = difflib.get_close_matches(name, sorted(words), n=1)
        close = [one for one in names if like and like[0] in (one, *one.split("-"))][:3]
    return f" Did you mean {' or '.join(close)}?" if close else ""


# --- read by the model ------------------------------------------------------


class ToolError(BfsqlError, ValueError):
    """A tool call that cannot be answered in its present form.

    Args:
        message: The sentence for the model.
        kind: The kind of fault, one word that a program can compare: `unknown_tool`,
            `unknown_argument`, `missing_argument`, `bad_value`,
            `unknown_entity`, `ambiguous_name`, `too_large`, `busy`, `deadline`, `store`,
            `refused`, `stopping` or `internal`.
        argument: The argument's name, or None if no single argument is at fault.
    """

    def __init__(self, message: str, *, kind: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.argument = argument


def bad_value(sentence: str, argument: str) -> ToolError:
    """An error on the value of an argument; the sentence is the whole message."""
    return ToolError(sentence, kind="bad_value", argument=argument)


class UnknownType(ToolError):
    """A name stands where a type is expected, and the graph has no such type.

    Args:
        sentence: The whole message.
        argument: The argument's name.
        name: The name, which an entity may have.
    """

    argument: str

    def __init__(self, sentence: str, argument: str, name: str) -> None:
        super().__init__(sentence, kind="bad_value", argument=argument)
        self.name = name


class Busy(ToolError):
    """A call for which the server has no capacity at present; the same call may be made later.

    Args:
        why: The reason, as a sentence.
        seconds: Time until a retry is worthwhile; rounded up.
    """

    def __init__(self, why: str, seconds: float) -> None:
        self.retry_after = max(1, math.ceil(seconds))
        in_time = "1 second" if self.retry_after == 1 else f"{self.retry_after} seconds"
        super().__init__(f"{why} Make this call again in {in_time}.", kind="busy")


class TypesUnread(ToolError, TimeoutError):
    """The deadline passed before the types of the nodes reached were read.

    Args:
        reached: Number of nodes.
        seconds: The deadline of the call.
    """

    def __init__(self, reached: int, seconds: float | None) -> None:
        super().__init__(
            f"The types of the {reached} nodes reached could not be read {in_time(seconds)}. "
            "Ask for fewer hops, or for fewer seeds.",
            kind="deadline",
        )


class FirstRingUnfinished(ToolError, TimeoutError):
    """The deadline passed before the first ring was read (`protocol.md` 10).

    Args:
        seeds: The nodes whose edges were requested.
        seconds: The deadline of the call.
        degree: The known number of edges, or None.
    """

    def __init__(self, seeds: Sequence[str], seconds: float | None, degree: int | None) -> None:
        known = "" if degree is None else f" (at least {degree} edges)"
        super().__init__(
            f"The edges of {_first(seeds)}{known} could not be read {in_time(seconds)}. "
            "Try again, or start from a neighbour with fewer edges.",
            kind="deadline",
        )


class BoundMet(BfsqlError):
    """A ring has more nodes or edges than a traversal may have; `engine` stops before it.

    Args:
        bound: The bound that was met.
        most: The value of the bound.
    """

    def __init__(self, bound: Literal["nodes", "edges", "memory"], most: int) -> None:
        super().__init__(f"more than {most:,} {bound}")
        self.bound = bound
        self.most = most

    @property
    def phrase(self) -> str:
        """The bound and what it applies to, as in `2,000,000 edges a traversal`."""
        if self.bound == "memory":
            return f"{self.most / 1e6:,.0f} MB of memory a call"
        return f"{self.most:,} {self.bound} a traversal"

    @property
    def setting(self) -> str:
        """The setting that gives the bound."""
        return "max_call_memory" if self.bound == "memory" else f"max_{self.bound}"


NARROWER = (
    "Start from fewer seeds, take fewer hops or steps, or name a type, a predicate or a condition."
)
"""What a call that takes too much memory can do."""


class CallMemoryMet(BoundMet, ToolError):
    """A call would take more memory than it may.

    Args:
        most: The bound in bytes.
    """

    def __init__(self, most: int) -> None:
        self.bound, self.most = "memory", most
        ToolError.__init__(
            self,
            f"The call exceeds this server's limit of {self.phrase} ({self.setting}). {NARROWER}",
            kind="too_large",
        )


class FirstRingTooLarge(ToolError):
    """The first ring has more nodes or edges than a traversal may have (`protocol.md` 10).

    Args:
        seeds: The nodes whose edges were requested.
        met: The bound that was met.
    """

    def __init__(self, seeds: Sequence[str], met: BoundMet) -> None:
        super().__init__(
            f"The edges of {_first(seeds)} exceed this server's limit of {met.phrase} "
            f"({met.setting}). Start from a neighbour with fewer edges, or read the "
            "entity itself with describe_entity.",
            kind="too_large",
            argument="seeds",
        )


class StepUnfinished(ToolError):
    """A path step for which the time is too short, or with too many nodes or edges for a traversal.

    Args:
        step: The number of the step, from 1.
        text: The step as written in `path`.
        nodes: The number of nodes it starts from.
        seconds: The deadline of the call.
        met: The bound that it exceeds; None if the deadline passed.
    """

    def __init__(
        self, step: int, text: str, nodes: int, seconds: float | None, met: BoundMet | None
    ) -> None:
        why = (
            f"could not be finished {in_time(seconds)}"
            if met is None
            else f"exceeds this server's limit of {met.phrase}"
        )
        what = "node" if nodes == 1 else "nodes"
        super().__init__(
            f"Step {step} ({text}) from {nodes} {what} {why}. Name a predicate, a direction and "
            "a type in this step or the ones before it, remove nodes with where or "
            "exclude_node_types, name the nodes that it has to end at in to, or start from fewer "
            "seeds.",
            kind="deadline" if met is None else "too_large",
            argument="path",
        )


class TooManyPairs(ToolError):
    """A comparison of steps needs more pairs of nodes than a traversal may hold.

    Args:
        step: The step with which others are compared.
        most: The bound.
        setting: The setting that gives the bound.
    """

    def __init__(self, step: int, most: int, setting: str = "max_edges") -> None:
        super().__init__(
            f"Comparing steps with step {step} needs more than this server's limit of {most:,} "
            f"pairs of a node of that step and an edge ({setting}). Start from fewer seeds, or "
            "name a type, a predicate or a condition in the steps.",
            kind="too_large",
            argument="where",
        )


class NodesUncounted(ToolError, TimeoutError):
    """The deadline passed while the distinct nodes of one step of a path were counted.

    Args:
        first: The earlier of the two steps.
        last: The later one.
        seconds: The deadline of the call.
    """

    def __init__(self, first: int, last: int, seconds: float | None) -> None:
        super().__init__(
            f"The pairs of nodes of the steps {first} and {last} could not be counted "
            f"{in_time(seconds)}. Name fewer seeds, a type or a predicate in each step, or the "
            "nodes that walks have to end at in to; paths counts the walks instead.",
            kind="deadline",
        )


def in_time(seconds: float | None) -> str:
    """The deadline of a call in a sentence on what was not finished."""
    return "in time" if seconds is None else f"within {seconds:g} s"


def _first(seeds: Sequence[str]) -> str:
    return listing(seeds, 1) if seeds else "no node"


class SetTooLarge(ToolError):
    """A pattern has more nodes than a traversal may have.

    Args:
        pattern: The pattern.
        most: The bound.
        size: Number of its nodes; None if they were not counted to the end.
    """

    def __init__(self, pattern: str, most: int, size: int | None = None) -> None:
        count = f"{size:,} nodes, more than" if size else "more nodes than"
        super().__init__(
            f"{pattern} has {count} this server's limit of {most:,} nodes a traversal "
            "(max_nodes). Add conditions to it; with this pattern as the only seed, limit=0 and "
            "facets its properties are counted.",
            kind="too_large",
            argument="seeds",
        )


class EntitiesNotListed(ToolError):
    """A set of entities was requested of a store that cannot list its entities."""

    def __init__(self) -> None:
        super().__init__(
            "This store cannot list its entities, so a call cannot begin at all entities of a "
            "type. Start from a name or an id; search_entities finds them by a part of a name.",
            kind="bad_value",
            argument="seeds",
        )


class NothingFits(BfsqlError, ValueError):
    """The budget is too small for the fixed part of every answer; `tools` composes the message."""


# --- read by the operator ---------------------------------------------------


class _ForTheOperator(BfsqlError):
    """An error whose message may quote a setting or a driver; secrets in it are hidden."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(hide_secrets(arg) if isinstance(arg, str) else arg for arg in args))


class ConfigurationError(_ForTheOperator, ValueError):
    """Settings that cannot be used: an option, a variable or a line of the file."""


class StoreError(_ForTheOperator):
    """The store is missing, unreadable, or not what the backend needs.

    Backends raise it with a sentence that names the store, what was found and
    a remedy. The model only learns that the graph cannot be reached.
    """


class StoreOutOfMemory(StoreError):
    """The store does not have enough memory for a statement; the model learns what takes less."""


class StoreDamaged(StoreError):
    """The content of the store is not what a load wrote; the model learns so without its name."""


class LoadRefused(StoreError):
    """A feasible load that is refused: a graph already exists, or the result would not be one.

    The store is unchanged.
    """


class StoreUnavailable(StoreError, ConnectionError):
    """The store went away or does not answer; the same call may succeed later.

    Attributes:
        retry_after: Seconds that the store asked clients to wait before a retry; None if it
            did not say.
    """

    retry_after: float | None = None


class CircuitOpen(StoreUnavailable):
    """The store did not answer a moment ago, and this call did not try it.

    Args:
        cause: The reason why it did not answer, if known.
        seconds: Time until it is tried again.
    """

    def __init__(self, cause: StoreUnavailable | None, seconds: float) -> None:
        why = "" if cause is None else f" {cause}"
        super().__init__(f"The store does not answer; it is tried again in {seconds:.1f} s.{why}")
        self.seconds = seconds


class EmbeddingFailed(StoreUnavailable):
    """There is no vector for a text; a search can still match names.

    Args:
        message: What happened, for the operator.
        lasting: Whether a retry is useless until the settings or the service are
            corrected; False if the fault may pass.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class SourceError(BfsqlError, ValueError):
    """A graph file that cannot be read in its expected format.

    Args:
        path: The file.
        reason: The fault.
        line: 1-based number of the line, or None if the fault concerns the whole file.
    """

    def __init__(self, path: object, reason: str, line: int | None = None) -> None:
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line


class PluginError(BfsqlError):
    """A backend or a hook plugin that cannot be used; the subclasses are the individual cases."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class UnknownBackend(PluginError, LookupError):
    """No installed distribution offers a backend of this name.

    Args:
        name: The requested name.
        installed: The names of the installed backends, the most similar one first.
        origin: Where the name was given, if not by the caller.
        official: Whether this project has a distribution for it.
    """

    def __init__(self, name: str, installed: Sequence[str], origin: str, *, official: bool) -> None:
        have = f"installed are: {', '.join(installed)}" if installed else "none is installed"
        cure = "Check the spelling, or install the distribution that provides it."
        if official:
            cure = (
                f"Run pip install bfsql-{name}, or in a clone pip install ./packages/bfsql-{name}"
            )
        where = f" ({origin})" if origin else ""
        super().__init__(name, f"There is no backend named {name!r}{where}; {have}. {cure}")


class AmbiguousBackend(PluginError):
    """Two or more distributions claim the same backend name."""

    def __init__(self, name: str, distributions: Sequence[str]) -> None:
        super().__init__(
            name,
            f"The backend name {name!r} is claimed by {' and '.join(distributions)}. "
            f"Uninstall all but one, for instance: pip uninstall {distributions[-1]}",
        )


class _BackendError(PluginError):
    """A backend of a distribution that cannot be used; `what` goes on after both names."""

    def __init__(self, name: str, distribution: str, what: str) -> None:
        super().__init__(name, f"The backend {name!r} of {distribution} {what}")


class BackendImportFailed(_BackendError, ImportError):  # type: ignore[misc]  # name is never None
    """The backend is installed but cannot be imported; the cause is chained.

    `wrong` is the value of its entry point, if that names what does not exist.
    """

    def __init__(self, name: str, distribution: str, cause: BaseException, wrong: str = "") -> None:
        why = f"{type(cause).__name__}: {cause}"
        cure = "Reinstall it with its dependencies"
        if wrong:
            why = f"its entry point is {name} = '{wrong}': {cause}"
            cure = "Correct it in the group 'bfsql.backends', and install it again"
        elif isinstance(cause, ModuleNotFoundError) and cause.name:
            why = f"the module {cause.name!r} is missing"
        what = f"failed to import: {why}. {cure}: pip install --force-reinstall {distribution}"
        _BackendError.__init__(self, name, distribution, what)


class BackendOpenFailed(_BackendError):
    """A backend raised an error of an unexpected class when it was opened; the cause is chained."""

    def __init__(self, name: str, distribution: str, cause: Exception) -> None:
        super().__init__(
            name,
            distribution,
            f"could not be opened: {type(cause).__name__}: {hide_secrets(str(cause))}. "
            "`bfsql describe-schema -v` with the same options shows the traceback; report it to "
            f"the author of {distribution}.",
        )


class NotABackend(_BackendError, TypeError):
    """The entry point names neither a plugin nor a class, or what it opens is no backend."""

    def __init__(self, name: str, distribution: str, found: object) -> None:
        kind, called = type(found).__name__, getattr(found, "__name__", found)
        what = (
            f"is {kind} {called!r}, not a bfsql.plugins.BackendPlugin and not a "
            "GraphDbInterface subclass. Its author has to correct the entry point in the group "
            "'bfsql.backends'."
        )
        super().__init__(name, distribution, what)


class ContractMismatch(_BackendError):
    """The backend was written for a contract that this core does not support.

    Args:
        name: The backend.
        distribution: The distribution that declares it.
        spoken: The contract's number that the plugin states.
        expected: The number of `bfsql.abc.CONTRACT`.
        newer: Whether the plugin's number is the newer one; None if it states no number.
    """

    def __init__(
        self, name: str, distribution: str, spoken: object, expected: str, *, newer: bool | None
    ) -> None:
        if newer is None:
            what = (
                f"states the contract {spoken!r}, which is not a number such as 1 or '1.1'; this "
                f"bfsql-core supports {expected}. Its author has to correct `contract` of its "
                "BackendPlugin."
            )
        elif newer:
            what = (
                f"implements contract {spoken}, which is newer than the {expected} of this "
                "bfsql-core. Upgrade core: pip install --upgrade bfsql-core"
            )
        else:
            what = (
                f"implements contract {spoken}, whose major number is older than that of the "
                f"{expected} of this bfsql-core. "
                f"Upgrade the backend: pip install --upgrade {distribution}"
            )
        super().__init__(name, distribution, what)


class HookPluginUnusable(PluginError):
    """A hook plugin that cannot be used.

    Args:
        name: The plugin.
        distribution: The distribution that declares it; None for a plugin passed by a program.
        reason: The fault.
    """

    def __init__(self, name: str, distribution: str | None, reason: str) -> None:
        sentence = (
            f"The hook plugin {name!r} cannot be used: {reason}."
            if distribution is None
            else f"The hook plugin {name!r} of {distribution} is skipped: {reason}. Upgrade it, "
            f"or remove it with: pip uninstall {distribution}"
        )
        super().__init__(name, sentence)
