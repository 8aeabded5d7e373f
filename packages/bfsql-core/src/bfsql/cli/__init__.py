"""The command line: `bfsql`. The only room that imports click and rich."""

from bfsql.cli.command import bfsql, main

__all__ = ["bfsql", "main"]
