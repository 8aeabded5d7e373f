"""The one outbound HTTP client: for embedding services, SPARQL endpoints and JSON-LD APIs.

    client = HttpClient(headers={"User-Agent": "..."}, connect_timeout=5)
    reply = await client.send(HttpRequest(url), credentials=credentials, max_bytes=1_000_000)
    reply.status, reply.headers["content-type"], reply.body

`HttpClient` pools connections, bounds every body while it streams and sends credentials only if the
caller passes them; it follows no redirect by itself (`follow_redirects`). Related names: `retry`,
`RateLimiter` and `seconds_left` control when a request is sent, `Credentials` what it carries,
`same_server`, `is_listed` and `public_address` where it may be sent.

Failures are facts without messages: an `HttpError` holds what happened to which request, and the
caller composes the message that names its own setting. `one_line`, `describe`, `hide_secrets` and
`hide_login` reduce texts for a message to one line without secrets.

`httpx2` is imported when the first client is created, so importing this package is cheap.
"""

from bfsql.call import seconds_left
from bfsql.http.addresses import (
    PrivateAddress,
    hide_login,
    is_listed,
    is_unencrypted,
    same_server,
    server_of,
    split_setting,
)
from bfsql.http.authentication import (
    Credentials,
    OAuthClient,
    TokenRefused,
    basic,
    fits_header,
    header_secret,
)
from bfsql.http.client import HttpClient, follow_redirects, tls_context
from bfsql.http.errors import (
    EndlessRedirects,
    Failure,
    HttpError,
    NoReply,
    ReplyTooLarge,
    UnusableCertificate,
    describe,
)
from bfsql.http.messages import HttpReply, HttpRequest
from bfsql.http.retry import RateLimited, RateLimiter, Retryable, backoff, retry
from bfsql.masking import hide_secrets, one_line

__all__ = [
    "Credentials",
    "EndlessRedirects",
    "Failure",
    "HttpClient",
    "HttpError",
    "HttpReply",
    "HttpRequest",
    "NoReply",
    "OAuthClient",
    "PrivateAddress",
    "RateLimited",
    "RateLimiter",
    "ReplyTooLarge",
    "Retryable",
    "TokenRefused",
    "UnusableCertificate",
    "backoff",
    "basic",
    "describe",
    "fits_header",
    "follow_redirects",
    "header_secret",
    "hide_login",
    "hide_secrets",
    "is_listed",
    "is_unencrypted",
    "one_line",
    "retry",
    "same_server",
    "seconds_left",
    "server_of",
    "split_setting",
    "tls_context",
]
