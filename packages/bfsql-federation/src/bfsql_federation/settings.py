"""The settings: the member graphs, and what means the same in them.

[backend]
name = "federation"

[backend.members.drugs]
backend = "postgres"
dsn = "postgresql://..."

[backend.members.classes]
backend = "sqlite"
path = "classes.db"
rename_types = { Class = "Drug class" }

[backend.prefixes]
RX = ["rx", "http://purl.bioontology.org/ontology/RXNORM/"]
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from bfsql import plugins, settings
from bfsql.errors import ConfigurationError, PluginError
from bfsql.plugins import BackendPlugin
from bfsql.settings import BackendSettings
from bfsql.settings.file import OF_GRAPH
from bfsql.settings.model import options_of_one
from bfsql_federation.identifiers import COMMON_PREFIXES


class MemberWords(BaseModel):
    """How the words of one graph are those of the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: list[str] = Field(default=[])
    """Beginnings of the ids that the graph may have, in its own spelling; empty for any. It is then
    not asked for others.
    """
    rename_types: dict[str, str] = Field(default={})
    """A type of the graph, and what the federation calls it."""
    rename_predicates: dict[str, str] = Field(default={})
    """Likewise a predicate."""


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """One graph of the federation."""

    name: str
    """The name of its backend."""
    plugin: BackendPlugin
    backend: BackendSettings
    words: MemberWords

    def __str__(self) -> str:
        """The name of the backend; its settings may be secret."""
        return self.name


class FederationSettings(BackendSettings):
    """Which graphs are one, and what means the same in them."""

    members: dict[str, Any] = Field(min_length=1)
    """Tables `[backend.members.NAME]`, each with `backend` and the settings of that backend; also
    `ids`, `rename_types` and `rename_predicates`. In place of these settings, `served` names one of
    `[graphs.NAME]`.
    """
    prefixes: dict[str, list[str]] = Field(default={})
    """A prefix of ids, and its other spellings."""
    common_prefixes: bool = True
    """Whether spellings of widely used prefixes are known, such as MESH and CHEBI."""
    crosswalk: Path | None = None
    """A CSV or TSV file with two columns: an id, and the id that answers show for it."""
    same_as: list[str] = Field(default=[])
    """Predicates between ids of one entity, such as owl:sameAs, and properties with another id, as
    TYPE.KEY. They are read when the graphs are opened.
    """
    same_as_limit: int = Field(default=32, ge=2)
    """Most ids that these may make one entity; larger sets stay apart, since one wrong edge joins
    them.
    """
    types: dict[str, list[str]] = Field(default={})
    """A type, and its other names in members."""
    predicates: dict[str, list[str]] = Field(default={})
    """A predicate, and its other names in members."""
    origins: bool = True
    """Whether entities and edges say which graphs they are from."""
    member_timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds that one graph may take; then it is missing from the answer, which says so."""

    @field_validator("members")
    @classmethod
    def _opened(cls, members: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        context = info.context or {}
        return {name: _member(name, table, **context) for name, table in members.items()}

    @property
    def all_prefixes(self) -> dict[str, list[str]]:
        """The prefixes with their spellings; one that is written here replaces a common one."""
        claimed = {text for name, some in self.prefixes.items() for text in (name, *some)}
        common = COMMON_PREFIXES if self.common_prefixes else {}
        rest = {
            name: [one for one in some if one not in claimed]
            for name, some in common.items()
            if name not in claimed
        }
        return {**rest, **self.prefixes}


def _member(
    name: str, table: Any, base: Path | None = None, graphs: Mapping[str, Any] | None = None
) -> MemberSettings:
    place, variables = f"[backend.members.{name}]", f"federation-{name}"
    if isinstance(table, MemberSettings):
        return table
    if isinstance(table, Mapping) and "served" in table:
        served = {"backend": "sqlite", **(graphs or {}).get(str(table["served"]), {"backend": ""})}
        table = {**{k: v for k, v in served.items() if k not in (*OF_GRAPH, "limits")}, **table}
        variables = f"bfsql-graphs-{table.pop('served')}"
    if not isinstance(table, Mapping) or not isinstance(table.get("backend"), str):
        raise ValueError(  # noqa: TRY004 - pydantic reports no other
            f"{place} needs backend, the name of a backend: bfsql backends lists them"
        )
    if not table["backend"]:
        known = ", ".join(graphs or ()) or "there is none"
        raise ValueError(f"{place} has as served none of [graphs.NAME]: {known}")
    if table["backend"] == "federation":
        raise ValueError(f"{place} is a federation; name its members here instead")
    own = {key: table[key] for key in MemberWords.model_fields if key in table}
    rest = {key: value for key, value in table.items() if key not in own and key != "backend"}
    try:
        words = settings.resolve(MemberWords, table=own, place=place).settings
        plugin = plugins.load(table["backend"])
        resolved = settings.resolve(
            plugin.settings,
            table=rest,
            known=options_of_one(plugin.settings, variables.upper().replace("-", "_") + "_"),
            environment=os.environ,
            place=place,
            base=base,
        )
    except (ConfigurationError, PluginError) as error:
        raise ValueError(str(error)) from None
    return MemberSettings(table["backend"], plugin, resolved.settings, words)
