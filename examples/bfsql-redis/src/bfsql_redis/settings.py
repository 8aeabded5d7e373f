"""The settings: where the server is, how to log in, and how long to wait."""

from typing import Annotated

from pydantic import Field, SecretStr

from bfsql.settings import BackendSettings, Env


class RedisSettings(BackendSettings):
    """The server and the graph in it.

    Each field is an option, an environment variable and a key of the configuration file. A
    `SecretStr` has no option, since arguments are visible in the process list: on the command line
    it is `--password-file`.
    """

    host: Annotated[str, Env("REDIS_HOST")] = "localhost"
    """Host name of the server."""
    port: Annotated[int, Env("REDIS_PORT")] = Field(default=6379, ge=1, le=65_535)
    """Port of the server."""
    username: Annotated[str | None, Env("REDIS_USERNAME")] = None
    """User of the server's access control list; by default the user `default`."""
    password: Annotated[SecretStr | None, Env("REDIS_PASSWORD")] = None
    """The password; without one, no login is attempted."""
    tls: bool = False
    """Connect with TLS, and verify the server's certificate."""
    graph: str = Field(default="graph", min_length=1)
    """Prefix of the keys that hold the graph."""
    pool_size: int = Field(default=16, ge=1, le=1_000)
    """Maximum number of connections."""
    connect_timeout: float = Field(default=5.0, gt=0, le=600)
    """Seconds to connect to the server."""
    timeout: float = Field(default=30.0, gt=0, le=600)
    """Seconds that one request may take, if the deadline of the call is not earlier."""
