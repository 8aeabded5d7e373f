"""A server that cannot be had on this machine."""


class Unavailable(Exception):
    """What is missing here, and how to get it, in one sentence."""
