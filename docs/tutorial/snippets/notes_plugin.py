"""The object of the entry point `notes`."""

from bfsql.abc import GraphDbInterface
from bfsql.plugins import BackendPlugin
from bfsql_notes.settings import NotesSettings


async def _open(settings: NotesSettings) -> GraphDbInterface:
    from bfsql_notes.backend import NotesBackend
    from bfsql_notes.queries import read

    return NotesBackend(read(settings.path.expanduser()))


plugin = BackendPlugin("a folder of Markdown notes", NotesSettings, _open, contract=1)
