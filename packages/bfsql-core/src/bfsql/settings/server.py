"""Settings of the server: transport, texts and limits.

Their names are those of the configuration file, the options and `BFSQL_...`.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ByteSize, ConfigDict, Field, SecretStr, field_validator

from bfsql.call import (
    MAX_EDGES,
    MAX_EDGES_IN_COLUMNS,
    MAX_NODES,
    MAX_NODES_IN_COLUMNS,
    STRIPPED,
    AnswerFormat,
    Limits,
)
from bfsql.settings.roles import Role
from bfsql.settings.trust import FoundFile

LEAST_TOKENS = 500
"""Smallest `max_tokens` that leaves room for an answer (`protocol.md` 14)."""

LEAST_MEMORY = 16_000_000
"""Smallest bound of memory in bytes, with which paths of 100,000 edges are possible."""

HTTP_CACHE_TTL = 600.0
"""Seconds for which an answer is valid over HTTP (`protocol.md` 25)."""

AT_START = (
    *("transport", "rest", "host", "port", "allowed_hosts", "cors_origins", "stateless"),
    *("trusted_proxies", "public_url", "oauth_issuer", "oauth_audience", "oauth_scopes"),
    *("oauth_client_id", "oauth_client_secret", "oauth_page_client", "oauth_allow_private"),
    *("bearer_token", "bearer_tokens", "insecure", "max_request_bytes", "log_format"),
    *("max_connections", "read_timeout", "write_timeout", "idle_timeout", "tls_cert", "tls_key"),
    *("max_sessions", "session_timeout", "admin_host", "admin_port", "record", "apps"),
    "workers",
)
"""Settings that are read only when the server starts."""

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")
_PAGE = re.compile(r"https?://[^/?#\s]+[^?#\s]*")
_SOURCE = re.compile(r"https?://[^\s/?#{}@]+/(?:[^\s{}]|\{\w+\})+", re.ASCII)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class ServeSettings(BaseModel):
    """Transport, texts and bounds of a server; the bounds hold for the tool commands too."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    found_file: ClassVar[FoundFile] = FoundFile(
        "title graph_description max_tokens max_answer_bytes deadline max_nodes max_edges strip "
        "structured_content apps answer_format cache_ttl"
    )

    transport: Literal["stdio", "http"] = "stdio"
    """stdio for a client that starts the server, http for many clients."""
    rest: bool = False
    """Serve the web API over HTTP, instead of MCP; with the transport http, both."""
    host: str = "127.0.0.1"
    """Address to listen on, over HTTP."""
    port: int = Field(default=8000, ge=0, le=65_535)
    """Port to listen on, over HTTP; 0 picks a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names, besides those of loopback, by which clients may call an HTTP server; * allows
    any.
    """
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For names the client, over HTTP; by
    default the header is ignored.
    """
    bearer_token: SecretStr | None = None
    """Token that every HTTP request must carry."""
    bearer_tokens: Path | None = None
    """File of tokens, one per line: a name and the token's hash, as printed by `bfsql token NAME`;
    read again when it changes.
    """
    public_url: str | None = None
    """Address by which clients reach the server, as https://host; OAuth needs it."""
    oauth_issuer: tuple[str, ...] = ()
    """URLs of OAuth issuers whose tokens are accepted, over HTTP."""
    oauth_audience: str | None = None
    """Audience that tokens of the issuers must have; by default the URL of the graph."""
    oauth_scopes: tuple[str, ...] = ()
    """Scopes that tokens of the issuers must have."""
    oauth_client_id: str | None = None
    """Client by which the server asks the first issuer about tokens that are not JWTs."""
    oauth_client_secret: SecretStr | None = None
    """Secret of that client."""
    oauth_page_client: str | None = None
    """Public client by which the page signs in at the first issuer."""
    oauth_allow_private: bool = False
    """Allow issuers at private addresses, and over http on this machine."""
    tls_cert: Path | None = None
    """PEM file of the certificate chain for HTTPS; read again on SIGHUP."""
    tls_key: Path | None = None
    """PEM file of its key; by default it is in tls_cert."""
    insecure: bool = False
    """Serve without a token on an address that other machines can reach."""
    stateless: bool = False
    """Keep no sessions, over HTTP."""
    workers: int = Field(default=1, ge=1, le=256)
    """Number of processes that answer, over HTTP; above 1, MCP has to be stateless, and the bounds
    of all calls are divided among them.
    """
    max_sessions: int = Field(default=1_000, ge=1)
    """Maximum number of sessions, over HTTP; beyond it, the session that has been idle longest is
    replaced.
    """
    max_identities: int = Field(default=32, ge=1)
    """Maximum number of graphs that are open for claims of callers; the last used ones are."""
    session_timeout: float = Field(default=1_800.0, gt=0)
    """Seconds for which an idle session is kept, over HTTP."""
    max_connections: int | None = Field(default=None, ge=1)
    """Maximum number of open connections, over HTTP; by default 1,000, or fewer if the process may
    open fewer files.
    """
    read_timeout: float = Field(default=15.0, gt=0)
    """Seconds within which a request must arrive, over HTTP."""
    write_timeout: float = Field(default=30.0, gt=0)
    """Seconds for which a client may leave an answer unread, over HTTP."""
    idle_timeout: float = Field(default=60.0, gt=0)
    """Seconds for which a connection may be idle, over HTTP."""
    grace: float = Field(default=20.0, ge=0)
    """Seconds that calls in progress have to finish when the server is stopped."""
    max_calls: int = Field(default=32, ge=1)
    """Maximum number of concurrent calls, over HTTP; further calls wait."""
    max_calls_per_client: int = Field(default=8, ge=1)
    """Maximum number of concurrent calls per token or address, over HTTP."""
    max_waiting: int = Field(default=100, ge=0)
    """Maximum number of waiting calls; further ones are refused."""
    calls_per_minute: int | None = Field(default=None, ge=1)
    """Maximum number of calls per minute per token or address, over HTTP; unlimited by default."""
    admin_port: int | None = Field(default=None, ge=0, le=65_535)
    """Port for /livez, /readyz and /metrics; if not set, they are not served."""
    admin_host: str = "127.0.0.1"
    """Address on which the admin port listens."""
    require_read_only: bool = False
    """Refuse to start if the account used for the store may write."""
    max_pause: float = Field(default=60.0, gt=0)
    """Longest pause, in seconds, between two attempts to reach a store that failed, even if the
    store asks for a longer one.
    """
    max_request_bytes: int = Field(default=1_000_000, ge=1_000)
    """Maximum size of an HTTP request, in bytes."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose web pages may call the web API, as https://host; * allows any."""
    max_age: int = Field(default=60, ge=0)
    """Seconds for which clients of the web API may reuse an answer before they ask again."""
    title: str | None = None
    """Name of the graph for people; clients show it."""
    graph_description: str | None = None
    """What the graph contains and where it comes from; models read it."""
    instructions: str | None = None
    """Text of your own to include in the server's instructions to models."""
    max_tokens: int = Field(
        default=20_000,
        ge=0,
        description="Token budget of an answer if the call sets none, and over HTTP of any answer; "
        f"0 for no limit, otherwise at least {LEAST_TOKENS}.",
    )
    max_answer_bytes: int = Field(default=20_000_000, ge=10_000)
    """Maximum size of the text of an answer, in bytes, over HTTP."""
    deadline: float | None = Field(default=60.0, gt=0)
    """Seconds that a tool call may take; `none` for no limit."""
    max_nodes: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of nodes in a traversal, which stops after the last complete "
        f"ring; by default {MAX_NODES:,}, or {MAX_NODES_IN_COLUMNS:,} if the store numbers its "
        "nodes.",
    )
    max_edges: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of edges in a traversal, likewise; by default "
        f"{MAX_EDGES:,}, or {MAX_EDGES_IN_COLUMNS:,} if the store numbers its nodes.",
    )
    max_call_memory: ByteSize | None = Field(default=None, ge=LEAST_MEMORY)
    """Memory that one call may take, as 500MB; by default a quarter of what the process may have,
    at most 1 GB.
    """
    max_memory: ByteSize | None = Field(default=None, ge=LEAST_MEMORY)
    """Memory that all calls may take together, as 2GB; by default half of what the process may
    have.
    """
    strip: tuple[str, ...] = STRIPPED
    """Edge metadata that traversals omit."""
    structured_content: bool = True
    """Also send answers as structured content, and publish output schemas."""
    apps: bool = True
    """Offer hosts that show pictures in the chat (MCP Apps) a card beside an answer."""
    explorer: str | None = None
    """Address of the page of this graph, as https://host, to which the card has a link."""
    source_url: str | None = None
    """Address of the source of a passage, to which the page has a link; fields of the passage stand
    in braces, as in https://host/documents/{document_id}.
    """
    answer_format: AnswerFormat = "json"
    """json, or lines: the same facts as shorter text, without structured content; the web API
    always answers in JSON.
    """
    cache_records: int = Field(default=500_000, ge=0)
    """Maximum number of nodes, edges and pieces of metadata to keep in memory."""
    cache_ttl: float | None = Field(
        default=None,
        gt=0,
        description="Seconds for which an answer is cached; by default "
        f"{HTTP_CACHE_TTL:g} over HTTP, and the life of the process on stdio.",
    )
    record: Path | None = None
    """File to which each tool call and its answer are appended, to be shown by `bfsql explore
    --replay`; not recorded if not set.
    """
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """Lowest level to log, to standard error; info logs one line per call."""
    log_format: Literal["text", "json"] = "text"
    """Format of log records: text, or one JSON object per line."""
    log_arguments: bool = False
    """Log the values of arguments, not only their names."""
    role: str | None = None
    """Role of the file whose part of the graph is served, over stdio; by default all of it."""
    roles: tuple[Role, ...] = Field(default=(), exclude=True)
    """The tables [roles.NAME] of the file, which decide what callers may see over HTTP."""

    @field_validator("max_tokens")
    @classmethod
    def _room_for_an_answer(cls, value: int) -> int:
        if 0 < value < LEAST_TOKENS:
            raise ValueError(f"it has to be 0 (no bound) or at least {LEAST_TOKENS}")
        return value

    @field_validator("bearer_token")
    @classmethod
    def _token_that_guards(cls, value: SecretStr | None) -> SecretStr | None:
        # With an empty token, a client that sends an empty header would be let in.
        if value is None:
            return None
        token = value.get_secret_value().strip()
        if not token:
            raise ValueError("it is empty; it has to be a token")
        if token.split() != [token]:
            raise ValueError(
                "it has to be one token, without blanks and line breaks; for several tokens, "
                "set bearer_tokens to a file with a name and a hash in each line, as "
                "`bfsql token NAME` prints them"
            )
        return SecretStr(token)

    @field_validator("cors_origins")
    @classmethod
    def _origins_as_browsers_send_them(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        value = tuple(_as_sent(origin) for origin in value)
        for origin in value:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                host = origin.partition("://")[2] or origin
                raise ValueError(
                    f"an origin is a scheme and a host without a path, as "
                    f"https://{host.partition('/')[0]}, or *"
                )
        return value

    @field_validator("explorer", "public_url")
    @classmethod
    def _address_of_a_page(cls, value: str | None) -> str | None:
        if value is not None and not _PAGE.fullmatch(value):
            raise ValueError(
                "it has to be a web address without a query, as https://host or https://host/path/"
            )
        return value

    @field_validator("source_url")
    @classmethod
    def _address_with_fields(cls, value: str | None) -> str | None:
        # A field in the host would let whoever wrote the graph choose it.
        if value is not None and not ("{" in value and _SOURCE.fullmatch(value)):
            raise ValueError(
                "the address of a source begins with http or https and a host, and has fields of a "
                "passage in braces behind it, as https://host/documents/{document_id}"
            )
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses_or_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in value:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise ValueError(
                    f"{proxy!r} is not the address or the network of a proxy; write 127.0.0.1 or "
                    "10.0.0.0/8"
                ) from None
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_any_case(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @property
    def cache_lifetime(self) -> float | None:
        """Seconds that an answer is kept by this transport; None is as long as the process."""
        if self.cache_ttl is None and self.serves_http:
            return HTTP_CACHE_TTL
        return self.cache_ttl

    @property
    def limits(self) -> Limits:
        """What one call may cost on one's own command line, where it may ask for more."""
        return Limits(
            max_tokens=self.max_tokens,
            deadline=self.deadline,
            max_nodes=self.max_nodes,
            max_edges=self.max_edges,
            max_call_memory=self.max_call_memory,
            max_memory=self.max_memory,
            stripped=self.strip,
            answer_format=self.answer_format,
        )

    @property
    def served_limits(self) -> Limits:
        """What one call to the server may cost; over HTTP no call gets more."""
        if not self.serves_http:
            return self.limits
        return replace(self.limits, max_answer_bytes=self.max_answer_bytes, ceilings=True)

    @property
    def serves_http(self) -> bool:
        """Whether the server is reached over HTTP, where clients are many and unknown."""
        return self.rest or self.transport == "http"


def _as_sent(origin: str) -> str:
    """An origin as browsers write it: in lower case, without the default port of its scheme."""
    lowered = origin.lower()
    return lowered.removesuffix(_DEFAULT_PORTS.get(lowered.partition("://")[0], ""))
