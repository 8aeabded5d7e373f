"""Which ids mean the same entity: spellings of prefixes, and pairs of ids.

`RX:10582`, `rx:10582` and `http://purl.bioontology.org/ontology/RXNORM/10582` are one id when the
prefix `RX` has the other two as spellings. A crosswalk adds pairs that no rule can tell. Both are
certain: they are what the operator wrote. Everything here is a function of an id, without a store.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bfsql.errors import ConfigurationError

COMMON_PREFIXES: Mapping[str, Sequence[str]] = {
    **{
        name: (f"http://purl.obolibrary.org/obo/{name}_",)
        for name in (
            *("BTO", "CHEBI", "CL", "DOID", "ECO", "EFO", "ENVO", "FMA", "GO", "HP", "MONDO", "MP"),
            *("NCBITaxon", "OBI", "PATO", "PR", "RO", "SO", "UBERON"),
        )
    },
    "MESH": ("http://id.nlm.nih.gov/mesh/", "https://id.nlm.nih.gov/mesh/", "MeSH", "mesh"),
    "UMLS": ("http://linkedlifedata.com/resource/umls/id/", "umls"),
    "RXNORM": ("http://purl.bioontology.org/ontology/RXNORM/", "RxNorm", "rxnorm"),
    "SNOMEDCT": ("http://snomed.info/id/", "SCTID", "snomedct"),
    "ENSEMBL": ("http://identifiers.org/ensembl/", "https://identifiers.org/ensembl:", "ensembl"),
    "HGNC": ("http://identifiers.org/hgnc/", "https://identifiers.org/hgnc:", "hgnc"),
    "UniProtKB": ("http://purl.uniprot.org/uniprot/", "uniprot", "UniProt"),
    "PMID": ("http://www.ncbi.nlm.nih.gov/pubmed/", "https://pubmed.ncbi.nlm.nih.gov/", "pmid"),
    "DOI": ("https://doi.org/", "http://dx.doi.org/", "doi"),
    "ORCID": ("https://orcid.org/", "http://orcid.org/", "orcid"),
    "wd": ("http://www.wikidata.org/entity/",),
    "dbr": ("http://dbpedia.org/resource/",),
}
"""Prefixes that many data sets share, each with its other spellings."""


class Identifiers:
    """Spellings of ids.

    Args:
        prefixes: A canonical prefix and its other spellings. A prefix that ends in a letter or a
            digit is followed by a colon: `MESH` is `MESH:`.
        same: An id, the one that it means, and how that is known.

    Raises:
        ConfigurationError: Two prefixes have one spelling, or the pairs contradict each other.
    """

    def __init__(
        self,
        prefixes: Mapping[str, Sequence[str]] = COMMON_PREFIXES,
        same: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        self._canonical: dict[str, str] = {}
        self._spellings: dict[str, list[str]] = {}
        for name, others in prefixes.items():
            own = _with_colon(name)
            spelt = list(dict.fromkeys([own, *map(_with_colon, others)]))
            self._spellings[own] = spelt
            for one in spelt:
                if self._canonical.setdefault(one, own) != own:
                    raise ConfigurationError(
                        f"prefixes: {one!r} is a spelling of {self._canonical[one]!r} and of "
                        f"{own!r}. An id can have one canonical prefix: leave it out of one."
                    )
        longest = sorted(map(re.escape, self._canonical), key=len, reverse=True)
        self._pattern = re.compile("|".join(longest) or "(?!)")
        self._same: dict[str, str] = {}
        self._others: defaultdict[str, list[str]] = defaultdict(list)
        self._reasons: dict[str, str] = {}
        for other, one, reason in same:
            self._pair(self._by_prefix(other), self._by_prefix(one), reason)
        for other in list(self._same):
            self._same[other] = one = self._end(other)
            self._others[one].append(other)

    def canonical(self, spelt: str) -> str:
        """The id by which an entity is known, whatever the spelling."""
        known = self._by_prefix(spelt)
        return self._same.get(known, known) if self._same else known

    def spellings(self, canonical: str) -> list[str]:
        """All ids by which a graph may know the entity, the canonical one first."""
        found = [*self._of_prefix(canonical)]
        for other in self._others.get(canonical, ()):
            found += self._of_prefix(other)
        return found

    def reason(self, spelt: str) -> str:
        """Which rule makes an id another one; empty if none does."""
        known = self._by_prefix(spelt)
        if known in self._same:
            return self._reasons[known]
        found = self._pattern.match(spelt)
        return "" if known == spelt or not found else f"prefix {self._canonical[found[0]]}"

    def _by_prefix(self, spelt: str) -> str:
        found = self._pattern.match(spelt)
        return spelt if found is None else self._canonical[found[0]] + spelt[found.end() :]

    def _of_prefix(self, known: str) -> Iterator[str]:
        found = self._pattern.match(known)
        if found is None:
            yield known
        else:
            for one in self._spellings[self._canonical[found[0]]]:
                yield one + known[found.end() :]

    def _pair(self, other: str, one: str, reason: str) -> None:
        if other == one:
            return
        self._reasons.setdefault(other, reason)
        if self._same.setdefault(other, one) != one:
            raise ConfigurationError(
                f"The crosswalk says that {other!r} is {self._same[other]!r}, and that it is "
                f"{one!r}. Keep one of the two lines."
            )

    def _end(self, start: str) -> str:
        """The end of a chain of pairs."""
        seen = {start}
        one = self._same[start]
        while one in self._same:
            if one in seen:
                raise ConfigurationError(
                    f"The crosswalk leads from {start!r} in a circle back to {one!r}. Its second "
                    "column has the ids that answers show; remove the line that begins with it."
                )
            seen.add(one)
            one = self._same[one]
        return one


def _with_colon(prefix: str) -> str:
    return f"{prefix}:" if prefix[-1:].isalnum() else prefix


def read_crosswalk(path: Path) -> Iterator[tuple[str, str, str]]:
    """The pairs of a CSV or TSV file: an id, and the id that answers show for it.

    A first line whose second column is `canonical` or `id` is a heading. Empty lines and lines that
    begin with `#` are passed over.

    Raises:
        ConfigurationError: It cannot be read, or a line has not two ids.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            tabs = path.suffix.lower() in (".tsv", ".tab")
            for number, row in enumerate(csv.reader(file, delimiter="\t" if tabs else ","), 1):
                cells = [cell.strip() for cell in row]
                if not any(cells) or cells[0].startswith("#"):
                    continue
                if number == 1 and cells[1:] in (["canonical"], ["id"]):
                    continue
                if len(cells) != 2 or not all(cells):
                    raise ConfigurationError(
                        f"crosswalk: line {number} of {path} is {', '.join(row)[:80]!r}. It needs "
                        "two ids: one, and the one that answers show for it."
                    )
                yield cells[0], cells[1], "crosswalk"
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"crosswalk: {path} cannot be read: {error}.") from None
