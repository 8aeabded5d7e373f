"""Signatures for Amazon Neptune (AWS Signature Version 4), made by botocore."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlsplit

from bfsql.errors import StoreError

SERVICE = "neptune-db"


def signed_headers(uri: str, region: str) -> dict[str, str]:
    """Headers that sign the request for a WebSocket.

    Looking up credentials may take a request to another server, so this blocks.

    Args:
        uri: The address of the server, with its port.
        region: The AWS region of the cluster.

    Raises:
        StoreError: botocore is not installed, or finds no credentials.
    """
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
    except ImportError as error:
        raise StoreError(
            "--aws-region needs botocore to sign requests: pip install 'bfsql-gremlin[aws]'."
        ) from error
    credentials = _session().get_credentials()
    if credentials is None:
        raise StoreError(
            "botocore found no credentials for AWS. Set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or give this computer a role; without --aws-region requests "
            "are not signed."
        )
    parts = urlsplit(uri)
    request = AWSRequest("GET", parts._replace(scheme="https").geturl())
    SigV4Auth(credentials.get_frozen_credentials(), SERVICE, region).add_auth(request)
    return dict(request.headers.items())


@cache
def _session() -> Any:
    from botocore.session import get_session

    return get_session()
