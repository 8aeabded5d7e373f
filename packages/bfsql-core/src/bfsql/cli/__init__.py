"""The command line `bfsql`. Only this package imports click and rich."""

from bfsql.cli.command import bfsql, main

__all__ = ["bfsql", "main"]
