"""Several graphs, of stores of any kind, behind the tools of BFS-QL as one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_federation.backend import FederationBackend
    from bfsql_federation.identifiers import Identifiers
    from bfsql_federation.member import Member
    from bfsql_federation.settings import FederationSettings

__all__ = ["FederationBackend", "FederationSettings", "Identifiers", "Member"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql_federation.backend": ("FederationBackend",),
        "bfsql_federation.identifiers": ("Identifiers",),
        "bfsql_federation.member": ("Member",),
        "bfsql_federation.settings": ("FederationSettings",),
    },
)
