"""Roles: who may see what, by the tables `[roles.NAME]` of the configuration file.

[roles.reader]
tokens = ["ann"]
hide_types = ["Patient"]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bfsql.errors import ConfigurationError, ToolError, did_you_mean

M = TypeVar("M", bound=BaseModel)

_NAMED = re.compile(r'\{([^{}\s"]+)\}')


class Role(BaseModel):
    """What some callers may see of the graphs, and what their calls may cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tokens: tuple[str, ...] = ()
    """Names of the tokens of a file; `*` is any valid token."""
    scopes: tuple[str, ...] = ()
    """Scopes of tokens, of which one is enough."""
    claims: dict[str, tuple[str, ...]] = {}
    """Claims of tokens, of each of which they have one of the values; `a.b` is `b` in `a`."""
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
    """Settings of the backend that are its own; of several graphs, a table for each. In
    `ServeSettings`, those of the graph that name claims of tokens in braces."""

    def of_backend(self, graph: str) -> dict[str, Any]:
        """Its own settings of the backend of a graph; one alone may have an empty name."""
        own = self.settings.get(graph, {}) if graph else self.settings
        if not isinstance(own, dict):
            raise ConfigurationError(f"settings.{graph} of [roles.{self.name}] has to be a table.")
        return own

    def identity(self, token: Any) -> str:
        """Its own settings with the claims of a token, as JSON; empty if they name none.

        Raises:
            ToolError: A claim is missing, or is no text that can be used.
        """
        if not claims_in(self.settings):
            return ""
        return json.dumps(_filled(self.settings, token.claims or {}), sort_keys=True, default=str)

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
        met = [{*some} & {*_texts(_claim(given, key))} for key, some in self.claims.items()]
        return not {*self.scopes}.isdisjoint(token.scopes) or (bool(met) and all(met))


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if type(one) is str]


def claims_in(value: Any) -> list[str]:
    """The claims that texts in a setting name in braces."""
    return _NAMED.findall(json.dumps(value, ensure_ascii=False, default=str))


def for_caller(settings: M, identity: str) -> M:
    """Settings of a backend with those of a `Role.identity`, or a `ToolError`."""
    values, known = json.loads(identity), type(settings).model_fields
    for name, value in values.items():
        kind: Any = Annotated[known[name].annotation, *known[name].metadata]
        try:
            values[name] = TypeAdapter(kind).validate_python(value)
        except ValidationError:  # whose text has the value
            why = f"The claims of your token make no {name} that your role could use."
            raise ToolError(f"{why} Ask whoever issues it.", kind="refused") from None
    return settings.model_copy(update=values)


def _filled(value: Any, claims: Mapping[str, Any]) -> Any:
    """A setting whose texts have the claims that they name."""
    if isinstance(value, str):
        return _NAMED.sub(lambda named: _usable_claim(claims, named[1]), value)
    if isinstance(value, Mapping):
        return {key: _filled(one, claims) for key, one in value.items()}
    return [_filled(one, claims) for one in value] if isinstance(value, list) else value


def _usable_claim(claims: Mapping[str, Any], name: str) -> str:
    value = _claim(claims, name)
    # No issuer has longer subjects (OpenID Connect Core, section 2).
    if isinstance(value, str) and re.fullmatch(".{1,255}", value) and value.isprintable():
        return value
    why = f"Your role takes the claim {name} of your token, which has to be one text of at most 255"
    raise ToolError(f"{why} printable characters, and is not. Ask its issuer.", kind="refused")


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or else by names that lead into objects; None without it."""
    value: Any = claims
    for key in [name] if name in claims else name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


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
