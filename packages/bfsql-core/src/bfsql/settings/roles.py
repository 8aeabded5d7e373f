"""Roles: who may see what, by the tables `[roles.NAME]` of the configuration file.

[roles.reader]
tokens = ["ann"]
hide_types = ["Patient"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bfsql.errors import ConfigurationError, did_you_mean


class Role(BaseModel):
    """What some callers may see of the graphs, and what their calls may cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tokens: tuple[str, ...] = ()
    """Names of the tokens of a file; `*` is any valid token."""
    scopes: tuple[str, ...] = ()
    """Scopes of tokens, of which one is enough."""
    claims: dict[str, tuple[str, ...]] = {}
    """Claims of tokens, of each of which they have one of the values."""
    graphs: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    max_tokens: int | None = Field(default=None, ge=500)
    deadline: float | None = Field(default=None, gt=0)
    max_nodes: int | None = Field(default=None, ge=1)
    max_edges: int | None = Field(default=None, ge=1)
    hide_properties: tuple[str, ...] = ()
    hide_types: tuple[str, ...] = ()
    hide_predicates: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    """Patterns of nodes, as seeds are written."""
    settings: dict[str, Any] = Field(default={}, repr=False)
    """Settings of the backend that are its own; of several graphs, a table for each."""

    def of_backend(self, graph: str) -> dict[str, Any]:
        """Its own settings of the backend of a graph; one alone may have an empty name."""
        own = self.settings.get(graph, {}) if graph else self.settings
        if not isinstance(own, dict):
            raise ConfigurationError(f"settings.{graph} of [roles.{self.name}] has to be a table.")
        return own

    @property
    def ceilings(self) -> dict[str, Any]:
        """The limits of a call that it lowers."""
        names = {"max_tokens", "deadline", "max_nodes", "max_edges"}
        return self.model_dump(include=names, exclude_none=True)

    def matches(self, token: Any) -> bool:
        """Whether a verified token has the role: by its name, by a scope, or by all claims.

        A claim has its text, or the texts of its list; anything else has no value.
        """
        of_file = token.claims is None  # an issuer may call anyone what a token is called here
        if not {"*", token.client_id if of_file else "*"}.isdisjoint(self.tokens):
            return True
        given = token.claims or {}
        met = [not {*some}.isdisjoint(_texts(given.get(key))) for key, some in self.claims.items()]
        return not {*self.scopes}.isdisjoint(token.scopes) or (bool(met) and all(met))


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if type(one) is str]


def roles_of(tables: Any, place: str) -> tuple[Role, ...]:
    """The roles of a configuration file, in its order; a `ConfigurationError` names a wrong key."""
    roles: list[Role] = []
    for name, table in tables.items() if isinstance(tables, dict) else [("NAME", tables)]:
        try:
            own = table if isinstance(table, dict) else {"": table}
            roles.append(Role.model_validate({"name": name, **own}))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            key, known = ".".join(map(str, fault["loc"][:2])), [*Role.model_fields][1:]
            what = f"cannot be used: {fault['msg']}."
            if fault["type"] == "extra_forbidden":
                what = f"is unknown.{did_you_mean(key, known)}"
            raise ConfigurationError(
                f"{key} in [roles.{name[:64]}] of {place} {what} A role has: {', '.join(known)}."
            ) from None
    return tuple(roles)


def role_of(roles: Sequence[Role], token: Any) -> Role | None:
    """The first of some roles that a verified token has; None without one."""
    return next((one for one in roles if token is not None and one.matches(token)), None)


def role_named(roles: Sequence[Role], name: str | None) -> Role | None:
    """The role of a name, None without one; an unknown one is a `ConfigurationError`."""
    known = {one.name: one for one in roles}
    if name is not None and name not in known:
        has = f"The configuration file has: {', '.join(known)}." if known else ""
        write = "No roles are configured: name a file that has [roles.NAME] with --config."
        raise ConfigurationError(f"There is no role {name[:64]!r}. {has or write}")
    return None if name is None else known[name]
