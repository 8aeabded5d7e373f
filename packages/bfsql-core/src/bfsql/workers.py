"""Threads for the heavy work of calls: fewer than there are cores, and shared fairly by clients.

    ring = await workers.run(partial(joined, rings), size=len(edges))

Work waits for a thread in the order of start-time fair queueing: a client that has been served for
longer waits for one that has been served for less, and within a client, a call that has worked for
longer waits for one that has worked for less. So a client has its share of the threads however many
calls it makes, and cheap calls overtake expensive ones.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import anyio

from bfsql import call

T = TypeVar("T")

LARGE = 20_000
"""Number of edges or nodes above which work is heavy: it takes milliseconds and runs in a thread.

A change of threads takes 0.05 to 0.1 ms. An answer of ten edges, which takes 0.7 ms in all, would
need five.
"""
SMALL = 1_000
"""Number of edges or nodes up to which work is never heavy, and not counted: it takes 1 ms."""
STEPS = 20
"""Turns of the loop between two pieces of work on it, in which a small call is mostly done."""
LATE_SECONDS = 0.4
"""Time after the deadline for work in a thread, such as writing what was read before it."""
_SECONDS_AN_ITEM = 1e-6
"""Estimated time for one node or edge: sorting a million edges takes 0.1 to 0.5 s, and comparing
the properties of a million nodes takes 1 to 2 s."""
_MOST_CLIENTS = 10_000
"""Clients whose service is remembered; beyond that, those served longest ago are forgotten."""


@dataclass(order=True, slots=True)
class _Job:
    """Work that waits for a thread; the one with the lowest tag is next."""

    tag: float
    number: int
    usage: call.Usage = field(compare=False)
    estimate: float = field(compare=False)
    work: Callable[[], Any] = field(compare=False)
    result: Future[Any] = field(compare=False)


class Workers:
    """A pool of threads that serves clients fairly.

    Args:
        threads: Number of threads.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="bfsql-worker")
        self._lock = Lock()
        self._waiting: list[_Job] = []
        self._numbers = count()
        # Virtual times: seconds of work of each client, and of the work that began last.
        self._served: OrderedDict[str, float] = OrderedDict()
        self._now = 0.0

    async def run(self, work: Callable[[], T], size: int) -> T:
        """Run work of the current call in a thread, when its turn comes.

        Args:
            work: A function that calls `bfsql.call.check` several times a second.
            size: Number of nodes and edges to work on, from which its time is estimated.

        Raises:
            TimeoutError: The call ended before the turn of the work came.
        """
        context = copy_context()
        result: Future[T] = Future()
        self._add(size * _SECONDS_AN_ITEM, lambda: context.run(work), result)
        self._threads.submit(self._run_next)
        return await asyncio.wrap_future(result)

    def _add(self, estimate: float, work: Callable[[], Any], result: Future[Any]) -> None:
        usage = call.current_usage()
        with self._lock:
            served = max(self._served.pop(usage.client, 0.0), self._now)
            self._served[usage.client] = served + estimate
            if len(self._served) > _MOST_CLIENTS:
                self._served.popitem(last=False)
            tag = served + usage.worked
            job = _Job(tag, next(self._numbers), usage, estimate, work, result)
            heapq.heappush(self._waiting, job)

    def _run_next(self) -> None:
        with self._lock:
            job = heapq.heappop(self._waiting)
            self._now = max(self._now, job.tag)
        began = time.thread_time()
        value, error = None, None
        starts = job.result.set_running_or_notify_cancel()
        if starts:
            try:
                value = job.work()
            except BaseException as raised:  # noqa: BLE001 - raised again where it is awaited
                error = raised
        self._count(job, time.thread_time() - began)
        if error is not None:
            job.result.set_exception(error)
        elif starts:
            job.result.set_result(value)

    def _count(self, job: _Job, seconds: float) -> None:
        """Count the time that some work took, in place of the estimate."""
        job.usage.worked += seconds
        with self._lock:
            if job.usage.client in self._served:
                self._served[job.usage.client] += seconds - job.estimate


def cores() -> int:
    """The number of cores that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_heavy(size: int) -> bool:
    """Whether work of the current call has to wait for its turn in one of the threads.

    The pieces of a call that has already worked for as long as heavy work takes are heavy too:
    many calls in such pieces would otherwise keep small calls from Python's lock.

    Args:
        size: Number of nodes and edges to work on.
    """
    if size <= SMALL or size > LARGE:
        return size > LARGE
    return call.current_usage().worked > LARGE * _SECONDS_AN_ITEM


def light(usage: call.Usage, work: Callable[[], T]) -> T:
    """Do work of a call that does not wait for a turn, and count its processor time.

    Args:
        usage: That of the call, which a thread that does the work does not know.
        work: The work.
    """
    began = time.thread_time()
    try:
        return work()
    finally:
        usage.worked += time.thread_time() - began


_workers = Workers(max(1, cores() - 1))


run = _workers.run
"""Run heavy work of the current call in one of the threads of this process; see `Workers.run`."""


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.Lock] = WeakKeyDictionary()
"""Of each event loop, the turn to work on it. Locks of asyncio keep the loops that made them."""


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """Run work of the current call, in a thread if it is heavy, so that the loop is not blocked.

    Other work of more than `SMALL` items runs on the loop, one piece in `STEPS` of its turns: a
    small call waits for one piece of the others, and not for one of each of them.

    Args:
        size: Number of nodes and edges to work on.
        work: A function that returns within a fraction of a second, or calls `call.check` as often.

    Raises:
        TimeoutError: The deadline passed more than `LATE_SECONDS` ago. What is left of the work
            ends at its next check.
    """
    if size <= SMALL:
        return work()
    if is_heavy(size):
        async with call.time_limit(extra=LATE_SECONDS):
            return await run(work, size)
    async with _turns.setdefault(asyncio.get_running_loop(), anyio.Lock()):
        for _ in range(STEPS):
            await asyncio.sleep(0)
        return light(call.current_usage(), work)
