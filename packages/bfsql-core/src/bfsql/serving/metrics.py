"""Metrics of a server, in the Prometheus text format.

`Metrics` counts what observers receive. `exposition` writes the text on request, together with what
the server's parts report at that moment. prometheus-client, the extra `metrics`, is imported only
then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from bfsql.observer import ObservedCall, Observer
from bfsql.plugins.distributions import __version__

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60)
"""Upper bounds of the buckets of histograms, in seconds."""

OTHER = "other"
"""Label of unknown tools, whatever name the client used."""


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
    """Counts calls, calls to the store and calls to the cache."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        """By tool and outcome."""
        self.seconds: dict[str, Histogram] = {}
        """By tool."""
        self.sizes: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.nodes: Counter[str] = Counter()
        self.edges: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()
        """By bound."""
        self.store_failures: Counter[str] = Counter()
        """By method."""
        self.store_seconds: dict[str, Histogram] = {}
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()

    def call_ended(self, seen: ObservedCall) -> None:
        """Count a call."""
        tool = OTHER if seen.error == "unknown_tool" else seen.tool
        self.calls[tool, seen.error or "ok"] += 1
        _of(self.seconds, tool).add(seen.seconds)
        self.sizes[tool] += seen.size
        self.tokens[tool] += seen.tokens
        self.nodes[tool] += seen.nodes
        self.edges[tool] += seen.edges
        for bound in seen.cut:
            self.cuts[bound] += 1

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        """Count a call to the store."""
        _of(self.store_seconds, method).add(seconds)
        if failed:
            self.store_failures[method] += 1

    def cache_asked(self, method: str, hits: int, misses: int) -> None:
        """Count hits and misses of the cache."""
        self.hits[method] += hits
        self.misses[method] += misses

    def families(self) -> Iterator[Metric]:
        """All metrics, in the form of prometheus-client."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        calls = CounterMetricFamily(
            "bfsql_calls", "Number of calls, by tool and outcome.", labels=["tool", "outcome"]
        )
        for (tool, outcome), count in self.calls.items():
            calls.add_metric([tool, outcome], count)
        yield calls
        for name, text, label, durations in (
            ("bfsql_call_seconds", "Duration of calls in seconds.", "tool", self.seconds),
            (
                "bfsql_store_call_seconds",
                "Duration of calls to the store in seconds.",
                "method",
                self.store_seconds,
            ),
        ):
            histogram = HistogramMetricFamily(name, text, labels=[label])
            for value, duration in durations.items():
                histogram.add_metric([value], duration.cumulated(), duration.total)
            yield histogram
        for name, text, label, counted in (
            ("bfsql_answer_bytes", "Bytes of answers.", "tool", self.sizes),
            ("bfsql_answer_tokens", "Tokens of answers.", "tool", self.tokens),
            ("bfsql_nodes_read", "Nodes that calls read.", "tool", self.nodes),
            ("bfsql_edges_read", "Edges that calls read.", "tool", self.edges),
            ("bfsql_answers_cut", "Answers that were limited by a bound.", "bound", self.cuts),
            (
                "bfsql_store_failures",
                "Failed calls to the store.",
                "method",
                self.store_failures,
            ),
            ("bfsql_cache_hits", "Keys that the cache held.", "method", self.hits),
            ("bfsql_cache_misses", "Keys that the cache did not hold.", "method", self.misses),
        ):
            counter = CounterMetricFamily(name, text, labels=[label])
            for value, count in counted.items():
                counter.add_metric([value], count)
            yield counter


@dataclass(frozen=True, eq=False)
class _Collector:
    """A collector for prometheus-client's registry."""

    metrics: Metrics
    readings: Sequence[Reading]

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import InfoMetricFamily

        yield InfoMetricFamily("bfsql", "The server.", value={"version": __version__})
        yield from self.metrics.families()
        yield from _families(self.readings)

    def describe(self) -> list[Any]:
        return []


def exposition(metrics: Metrics, readings: Iterable[Reading], accept: str) -> tuple[bytes, str]:
    """The metrics as text, and its content type.

    Args:
        metrics: The counted values.
        readings: What the parts of the server report.
        accept: The header `Accept` of the request.

    Raises:
        ImportError: prometheus-client is not installed.
    """
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry()
    registry.register(_Collector(metrics, tuple(readings)))
    ProcessCollector(registry=registry)
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type


def _families(readings: Iterable[Reading]) -> Iterable[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    families: dict[str, Any] = {}
    for one in readings:
        if one.name not in families:
            kind = CounterMetricFamily if one.counts else GaugeMetricFamily
            families[one.name] = kind(one.name, one.help, labels=list(one.labels))
        families[one.name].add_metric(list(one.labels.values()), one.value)
    return families.values()


def _of(histograms: dict[str, Histogram], label: str) -> Histogram:
    found = histograms.get(label)
    if found is None:
        found = histograms[label] = Histogram()
    return found
