"""Metrics of a server, in the Prometheus text format.

`Metrics` counts what observers receive. `exposition` writes the text on request, together with what
the server's parts report at that moment. prometheus-client, the extra `metrics`, is imported only
then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from bfsql import call
from bfsql.observer import ObservedCall, Observer
from bfsql.plugins.distributions import __version__

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60)
"""Upper bounds of the buckets of histograms, in seconds."""

_FAMILIES = {
    "bfsql_calls": ("Number of calls, by tool and outcome.", ["tool", "outcome"]),
    "bfsql_call_seconds": ("Duration of calls in seconds.", ["tool"]),
    "bfsql_store_call_seconds": ("Duration of calls to the store in seconds.", ["method"]),
    "bfsql_answer_bytes": ("Bytes of answers.", ["tool"]),
    "bfsql_answer_tokens": ("Tokens of answers.", ["tool"]),
    "bfsql_nodes_read": ("Nodes that calls read.", ["tool"]),
    "bfsql_edges_read": ("Edges that calls read.", ["tool"]),
    "bfsql_answers_cut": ("Answers that were limited by a bound.", ["bound"]),
    "bfsql_store_failures": ("Failed calls to the store.", ["method"]),
    "bfsql_cache_hits": ("Keys that the cache held.", ["method"]),
    "bfsql_cache_misses": ("Keys that the cache did not hold.", ["method"]),
}
"""What observers count, with the labels: durations as histograms, everything else as counters."""


class Reading(NamedTuple):
    """What a part of the server reports when metrics are requested."""

    name: str
    help: str
    value: float
    labels: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    counts: bool = False
    """Whether the value only grows."""


@dataclass(slots=True)
class Histogram:
    """A histogram of durations."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.buckets[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds

    def cumulated(self) -> list[tuple[str, float]]:
        """The upper bound of each bucket, and how many durations are within it."""
        ends = [*map(str, map(float, SECONDS)), "+Inf"]
        return list(zip(ends, map(float, accumulate(self.buckets)), strict=True))


class Metrics(Observer):
    """Counts calls, calls to the store and calls to the cache.

    Args:
        by_graph: Whether they are counted for each of several graphs.
    """

    def __init__(self, *, by_graph: bool = False) -> None:
        self._labels = ["graph"] if by_graph else []
        self._graph: Callable[[], list[str]] = (lambda: [call.GRAPH.get()]) if by_graph else list
        self._counters: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._histograms: dict[tuple[str, ...], Histogram] = defaultdict(Histogram)

    def call_ended(self, seen: ObservedCall) -> None:
        """Count a call."""
        # A client may use any name for a tool that does not exist.
        tool = "other" if seen.error == "unknown_tool" else seen.tool
        self._count("bfsql_calls", tool, seen.error or "ok")
        self._histograms["bfsql_call_seconds", tool, *self._graph()].add(seen.seconds)
        self._count("bfsql_answer_bytes", tool, by=seen.size)
        self._count("bfsql_answer_tokens", tool, by=seen.tokens)
        self._count("bfsql_nodes_read", tool, by=seen.nodes)
        self._count("bfsql_edges_read", tool, by=seen.edges)
        for bound in seen.cut:
            self._count("bfsql_answers_cut", bound)

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        """Count a call to the store."""
        self._histograms["bfsql_store_call_seconds", method, *self._graph()].add(seconds)
        if failed:
            self._count("bfsql_store_failures", method)

    def cache_asked(self, method: str, hits: int, misses: int) -> None:
        """Count hits and misses of the cache."""
        self._count("bfsql_cache_hits", method, by=hits)
        self._count("bfsql_cache_misses", method, by=misses)

    def _count(self, name: str, *labels: str, by: int = 1) -> None:
        self._counters[name][*labels, *self._graph()] += by

    def families(self) -> Iterator[Metric]:
        """All metrics, in the form of prometheus-client."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        for name, (text, labels) in _FAMILIES.items():
            if name.endswith("_seconds"):
                histogram = HistogramMetricFamily(name, text, labels=[*labels, *self._labels])
                for (of, *value), durations in self._histograms.items():
                    if of == name:
                        histogram.add_metric(value, durations.cumulated(), durations.total)
                yield histogram
            else:
                counter = CounterMetricFamily(name, text, labels=[*labels, *self._labels])
                for values, count in self._counters[name].items():
                    counter.add_metric(values, count)
                yield counter


def exposition(metrics: Metrics, readings: Iterable[Reading], accept: str) -> tuple[bytes, str]:
    """The metrics as text for a header `Accept`, and its content type.

    Raises:
        ImportError: prometheus-client is not installed.
    """
    from prometheus_client import ProcessCollector
    from prometheus_client.core import InfoMetricFamily

    info = InfoMetricFamily("bfsql", "The server.", value={"version": __version__})
    process = ProcessCollector(registry=None).collect()
    return text_of([info, *metrics.families(), *_families(readings), *process], accept)


def text_of(families: Iterable[Metric], accept: str) -> tuple[bytes, str]:
    """Metrics as text for a header `Accept`, and its content type."""
    from prometheus_client.exposition import choose_encoder

    encoder, content_type = choose_encoder(accept)
    return encoder(SimpleNamespace(collect=lambda: families)), content_type


def _families(readings: Iterable[Reading]) -> Iterable[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    families: dict[str, Any] = {}
    for one in readings:
        if one.name not in families:
            kind = CounterMetricFamily if one.counts else GaugeMetricFamily
            families[one.name] = kind(one.name, one.help, labels=list(one.labels))
        families[one.name].add_metric(list(one.labels.values()), one.value)
    return families.values()
