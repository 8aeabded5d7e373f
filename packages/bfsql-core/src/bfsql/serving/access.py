"""Who may call a server over HTTP: tokens, host names and origins.

The guards are ASGI applications around that of MCP (`bfsql.server`) or of the web API
(`bfsql.rest`). Starlette is not imported with this module.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from bfsql.errors import ConfigurationError, ToolError
from bfsql.serving.address import is_loopback
from bfsql.serving.requests import header_values
from bfsql.serving.tokens import KnownTokens, TokenVerifier, VerifiedToken
from bfsql.settings.roles import Role, role_of

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bfsql.settings import ServeSettings

log = logging.getLogger(__name__)

Refusal: TypeAlias = "Callable[[HTTPStatus, str], Response]"
"""Makes the response to a rejected request, from its status and a sentence."""

Roles: TypeAlias = Callable[[], Sequence[Role]]
"""The roles that are in force."""

ANY = "*"
"""In `allowed_hosts`: clients may call the server by any name."""

PAGES = ("/", "/docs")
"""Paths of pages without data of the graph, to which links on pages of other sites may lead."""

_VERIFIED = "bfsql.token"
ROLE = "bfsql.role"
"""Key of a scope: the name of the caller's role; None if there are no roles."""
IDENTITY = "bfsql.identity"
"""Key of a scope: the `Role.identity` of the caller, which no hook and no log gets to know."""
GRAPH = "bfsql.graph"
"""Key of a scope: the name of the graph of several that a request is for."""
RESOURCE = "bfsql.resource"
"""Key of a scope: the path of that graph below the public URL, for which tokens are issued."""
METADATA = "/.well-known/oauth-protected-resource"
"""Path of a resource's metadata, in front of the path of the resource (RFC 9728)."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(
    r"(?P<host>\[[0-9a-f:.]+\]|[^\s\x00-\x20:/?#@\[\]\\,\"'<>]+)(?::(?P<port>[0-9]{1,5}))?"
)


# --- tokens ---------------------------------------------------------------------


def verifier_of(settings: ServeSettings) -> TokenVerifier | None:
    """The verifier for the settings; None if they have neither a token nor an issuer."""
    shared, file = settings.bearer_token, settings.bearer_tokens
    text = shared.get_secret_value() if shared else ""
    known = KnownTokens(file, text) if text or file else None
    if not settings.oauth_issuer:
        return known
    from bfsql.serving.oauth import OAuthTokens

    return OAuthTokens(settings, known)


class ProtectedResource(NamedTuple):
    """What a token of an issuer has to be for: the graph at a path below the public URL."""

    settings: ServeSettings
    path: str

    @property
    def url(self) -> str:
        """Its URL, which identifies it."""
        return f"{self.settings.public_url}".rstrip("/") + self.path

    def metadata(self) -> dict[str, object]:
        """Its description for clients."""
        fields = {
            "resource": self.url,
            "authorization_servers": self.settings.oauth_issuer,
            "scopes_supported": self.settings.oauth_scopes,
            "bearer_methods_supported": ["header"],
            "bfsql_page_client": self.settings.oauth_page_client,
        }
        return {name: value for name, value in fields.items() if value}

    def error(self, token: VerifiedToken) -> str:
        """Why a valid token of an issuer is not for it (RFC 6750); empty if it is."""
        if token.claims is None or not self.settings.oauth_issuer:
            return ""
        audience, wanted = token.claims.get("aud"), self.settings.oauth_audience or self.url
        named = audience if isinstance(audience, list) else [audience]
        if wanted.rstrip("/") not in (str(one).rstrip("/") for one in named):
            log.info("A token was refused: InvalidAudienceError.")
            return "invalid_token"
        return "" if {*self.settings.oauth_scopes} <= {*token.scopes} else "insufficient_scope"

    def challenge(self, error: str) -> str:
        """The header `WWW-Authenticate` of a refusal."""
        if not self.settings.oauth_issuer:
            return "Bearer"
        metadata = f"{self.url.removesuffix(self.path)}{METADATA}{self.path}"
        scope = " ".join(self.settings.oauth_scopes)
        fields = {"error": error, "scope": scope, "resource_metadata": metadata}
        return "Bearer " + ", ".join(f'{name}="{text}"' for name, text in fields.items() if text)


def require_token(
    app: ASGIApp,
    verifier: TokenVerifier,
    refusal: Refusal,
    settings: ServeSettings,
    *,
    roles: Callable[[], Sequence[Role]] = tuple,
    path: str = "",
) -> ASGIApp:
    """The application behind a verifier of bearer tokens: a request without a valid one gets 401.

    The result is stored in the request's scope, see `verified_token`; the token itself is neither
    stored nor logged. A token of an OAuth issuer has to be for the URL of the graph, at `path` or
    at the scope's; anyone may read the metadata of that URL. If there are `roles`, a request whose
    token has none, or one without the graph, or no claim that settings of the role name, gets 403.
    """
    from starlette.responses import JSONResponse

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        resource = ProtectedResource(settings, scope.get(RESOURCE, path))
        below = scope["path"].removeprefix(scope.get("root_path", ""))
        if settings.oauth_issuer and below in (METADATA, METADATA + resource.path):
            anyone = {"Access-Control-Allow-Origin": "*"}
            await JSONResponse(resource.metadata(), headers=anyone)(scope, receive, send)
            return
        token = _bearer_token(scope)
        known = None if token is None else await verifier.verify_token(token)
        error = resource.error(known) if known else "invalid_token" if token else ""
        role = role_of(roles(), known)
        if known and not error and usable_graphs([scope.get(GRAPH, "")], role, roles()):
            try:
                identity = role.identity(known) if role else ""
            except ToolError as lacking:
                await refusal(HTTPStatus.FORBIDDEN, str(lacking))(scope, receive, send)
                return
            own = {_VERIFIED: known, ROLE: role and role.name, IDENTITY: identity}
            await app({**scope, **own}, receive, send)
            return
        why = "The token of this request does not allow this graph. GET /graphs lists others."
        status = HTTPStatus.FORBIDDEN
        if known and not error:
            subject = known.subject or known.client_id
            log.info("No role: subject=%s graph=%s", subject, scope.get(GRAPH, ""))
        if known is None or error == "invalid_token":
            why = "This server requires the header 'Authorization: Bearer TOKEN' with its token."
            status = HTTPStatus.UNAUTHORIZED
        refused = refusal(status, why)
        refused.headers["WWW-Authenticate"] = resource.challenge(error)
        await refused(scope, receive, send)

    return guarded


def usable_graphs(names: Iterable[str], role: Role | None, roles: Sequence[Role]) -> list[str]:
    """Those of several graphs that a caller may use, whose role is None if it has none of them."""
    if role is None:
        return [] if roles else list(names)
    return [one for one in names if role.graphs is None or one in role.graphs]


def verified_token(scope: Scope) -> VerifiedToken | None:
    """What `require_token` found out about the token of a request; None if no token is required."""
    known: VerifiedToken | None = scope.get(_VERIFIED)
    return known


def subject_of(scope: Scope) -> str | None:
    """The name of the caller's token; None without a token, or with the shared one."""
    known = verified_token(scope)
    return None if known is None else known.subject or known.client_id or None


def _bearer_token(scope: Scope) -> str | None:
    """The token of a request; None if it has no such header, or several."""
    given = header_values(scope, b"authorization")
    scheme, _, value = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
    if scheme.lower() != b"bearer":
        return None
    return value.strip().decode("utf-8", "surrogateescape")


# --- names of the server ----------------------------------------------------------


class Authority(NamedTuple):
    """Host and port of a URL; the host in lower case, an IPv6 address in its shortest form."""

    host: str
    port: int | None

    @classmethod
    def parsed(cls, text: str) -> Authority | None:
        """Of `host`, `host:port` or `[IPv6]:port`; None for anything else."""
        found = _AUTHORITY.fullmatch(text.lower())
        if found is None:
            return None
        host = found["host"]
        if host.startswith("["):
            try:
                host = str(ipaddress.IPv6Address(host[1:-1]))
            except ValueError:
                return None
        return cls(host, int(found["port"]) if found["port"] else None)

    def on(self, default: int) -> Authority:
        """With its own port, or else the default one of a scheme."""
        return self if self.port is not None else self._replace(port=default)


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """The accepted values of the headers `Host` and `Origin`.

    A name without a port matches any port in `Host`, since the port does not tell whose name it is,
    and the scheme's default port in `Origin`.
    """

    own: frozenset[Authority]
    """Names of this machine's loopback, if the server listens there."""
    configured: frozenset[Authority]
    """Those of the settings `allowed_hosts` and `public_url`."""
    origins: frozenset[str]
    """Those of the setting `cors_origins`."""

    def allows_host(self, header: str | None) -> bool:
        """Whether requests to this `Host` are answered."""
        host = None if header is None else Authority.parsed(header)
        return host is not None and any(_names(one, host) for one in (*self.own, *self.configured))

    def allows_origin(self, header: str | None, host: str | None) -> bool:
        """Whether web pages of this `Origin` may send requests; programs send no `Origin`.

        They may if the origin is the address that the request was sent to, an allowed name, or a
        listed origin. A proxy may hide TLS and the name that the client used.
        """
        if header is None or header in self.origins or ANY in self.origins:
            return True
        scheme, separator, rest = header.lower().partition("://")
        page = Authority.parsed(rest)
        if page is None or not separator or scheme not in _DEFAULT_PORTS:
            return False
        own = None if host is None else Authority.parsed(host)
        default = _DEFAULT_PORTS[scheme]
        asked = () if own is None else (own,)
        return page.on(default) in {one.on(default) for one in (*asked, *self.configured)}


def allowed_names(settings: ServeSettings) -> AllowedNames | None:
    """The names under which clients reach a server; None if any name is allowed."""
    if ANY in settings.allowed_hosts:
        return None
    own = (*_LOOPBACK, settings.host.lower()) if is_loopback(settings.host) else ()
    public = (urlsplit(settings.public_url).netloc,) if settings.public_url else ()
    return AllowedNames(
        frozenset(Authority(name, None) for name in own),
        frozenset(map(_allowed_host, (*settings.allowed_hosts, *public))),
        frozenset(settings.cors_origins),
    )


def require_known_names(app: ASGIApp, settings: ServeSettings, refusal: Refusal) -> ASGIApp:
    """The application behind a check of names: an unknown `Host` gets 421, an unknown `Origin` 403.

    This prevents DNS rebinding (`check_exposure`), so it comes before everything else that answers,
    redirects included. A browser names no `Origin` where a page of another site embeds an address
    or links to it; such requests get 403 as well, except links to `PAGES`. If any name is allowed,
    the application is returned unchanged.
    """
    names = allowed_names(settings)
    if names is None:
        return app

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http":
            host, origin = _only(scope, b"host"), _only(scope, b"origin")
            if host is None or not names.allows_host(host):
                answer = refusal(
                    HTTPStatus.MISDIRECTED_REQUEST,
                    "This server does not accept the name in the header Host. Use one of its "
                    "names, or ask its operator to add the name to allowed_hosts.",
                )
            elif not names.allows_origin(origin, host) or (
                origin is None and ANY not in names.origins and _embedded_elsewhere(scope)
            ):
                answer = refusal(
                    HTTPStatus.FORBIDDEN,
                    "This server does not accept requests from pages of this origin, or of other "
                    "sites without the header Origin. Open the address directly; or let the page "
                    "use fetch(), and its operator add the page's origin to cors_origins.",
                )
        await answer(scope, receive, send)

    return guarded


def _embedded_elsewhere(scope: Scope) -> bool:
    """Whether a page of another site causes the request, other than by a link to `PAGES`."""
    link = _only(scope, b"sec-fetch-mode") == "navigate" and (
        _only(scope, b"sec-fetch-dest") == "document"
        and scope["path"].removeprefix(scope.get("root_path", "")) in PAGES
    )
    return _only(scope, b"sec-fetch-site") == "cross-site" and not link


def _names(allowed: Authority, host: Authority) -> bool:
    """Whether an allowed name matches that of a header; a missing port is the default port."""
    ports = _DEFAULT_PORTS.values() if host.port is None else (host.port,)
    return allowed.host == host.host and (allowed.port is None or allowed.port in ports)


def _allowed_host(text: str) -> Authority:
    name = text.removesuffix(":*")
    found = Authority.parsed(name) or Authority.parsed(f"[{name}]")  # a bare IPv6 address
    if found is None:
        raise ConfigurationError(
            f"allowed_hosts has {text!r}, which is not the name of a server: write "
            "graph.example.org, graph.example.org:8443 to allow only that port, or * for any "
            "name."
        )
    return found


def _only(scope: Scope, name: bytes) -> str | None:
    """The value of a header; None without it, a list of the values if it is repeated."""
    values = header_values(scope, name)
    return ", ".join(value.decode("latin-1") for value in values) if values else None
