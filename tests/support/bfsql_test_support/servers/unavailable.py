"""The exception for servers that are not available on this machine."""


class Unavailable(Exception):
    """The missing thing, and how to get it, in one sentence."""
