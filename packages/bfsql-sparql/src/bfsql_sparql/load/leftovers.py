"""Finds the leftovers of killed loads in a store, which the next load removes.

A load marks its graphs: the mark names the machine and the time, and on the machine the load holds
a locked folder, which the system releases when its process ends. A load of this machine is
therefore over when its folder is gone, and one of another machine when it is older than any load
gets.
"""

from __future__ import annotations

import hashlib
import platform
import re
import tempfile
import time
import uuid
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

from bfsql.loading.folders import working_folder
from bfsql.models.rdf import Literal
from bfsql_sparql.dataset import Dataset
from bfsql_sparql.queries.graph import iri

_OWNER = "urn:bfsql:/owner"
_FOLDERS = "bfsql-sparql-load-"
_MARKS = f"SELECT ?g ?load ?owner WHERE {{ GRAPH ?g {{ ?load {iri(_OWNER)} ?owner }} }}"
_NUMBER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def load_lock(number: str) -> AbstractContextManager[Path]:
    """A lock that shows that the load with this UUID is running, as long as its process lives."""
    return working_folder(Path(tempfile.gettempdir()), _FOLDERS, number)


def mark(place: str) -> str:
    """The line that marks a load, by the IRI of its graph."""
    return f'{iri(place)} {iri(_OWNER)} "{_machine()} {int(time.time())}" .\n'


async def abandoned_graphs(dataset: Dataset, prefix: str) -> list[str]:
    """The graphs of loads that are over; their names begin with `prefix`, and a UUID follows.

    Raises:
        StoreError: The store cannot be queried.
    """
    found = await dataset.select(_MARKS, 10.0)
    over: list[str] = []
    for graph, load, owner in found.rows if found else ():
        # Only graphs with names of loads are dropped, whatever the mark says.
        if not isinstance(load, str) or not isinstance(owner, Literal) or graph != f"{load}:owner":
            continue
        number = load.removeprefix(prefix)
        if load.startswith(prefix) and _NUMBER.fullmatch(number) and _is_over(number, owner.text):
            over += [load, graph]
    return over


def _is_over(number: str, owner: str) -> bool:
    machine, _, began = owner.partition(" ")
    if machine == _machine():
        return not Path(tempfile.gettempdir(), f"{_FOLDERS}{number}").exists()
    return began.isdecimal() and time.time() - int(began) > timedelta(days=1).total_seconds()


def _machine() -> str:
    """An identification of this machine: its name, its network card and its temporary folder."""
    folder = tempfile.gettempdir()
    status = Path(folder).stat()
    facts = (platform.node(), uuid.getnode(), folder, status.st_dev, status.st_ino)
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()
