"""The one outbound HTTP client: for embedding services, SPARQL endpoints and JSON-LD APIs.

    client = HttpClient(headers={"User-Agent": "..."}, connect_timeout=5)
    reply = await client.send(HttpRequest(url), credentials=credentials, max_bytes=1_000_000)
    reply.status, reply.headers["content-type"], reply.body

`HttpClient` pools connections, bounds every body while it streams and shows credentials only where
the caller passes them; it follows no redirect by itself (`follow_redirects`). Around it: `retry`,
`RateLimiter` and `seconds_left` say when a request goes out, `Credentials` what it carries,
`same_server`, `is_listed` and `public_address` where it may go.

Failures are facts and no sentences: an `HttpError` knows what happened to which request, and the
caller writes the sentence that names its own setting. What goes into one is put on one line and
freed of secrets by `one_line`, `describe`, `hide_secrets` and `hide_login`.

`httpx2` is imported when the first client is made, so that importing this room is cheap.
"""

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
from bfsql.http.client import HttpClient, HttpReply, HttpRequest, follow_redirects, tls_context
from bfsql.http.errors import (
    EndlessRedirects,
    Failure,
    HttpError,
    NoReply,
    ReplyTooLarge,
    UnusableCertificate,
    describe,
    one_line,
)
from bfsql.http.retry import (
    RateLimited,
    RateLimiter,
    Retryable,
    backoff,
    retry,
    seconds_left,
)
from bfsql.masking import hide_secrets

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
