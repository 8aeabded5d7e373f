"""Made-up pronounceable names, each used once."""

import random
from collections.abc import Callable

ONSETS = [*"bdfgklmnprstvz", "br", "dr", "gr", "kr", "pl", "sk", "st", "tr"]
VOWELS = "aeiou"
CODAS = ["", "", "", "l", "n", "r", "s", "m", "k", "x"]
TITLES = (
    "Binding of {}",
    "{} in early disease",
    "Structure of {}",
    "Long-term effects of {}",
    "A survey of {}",
    "{} and its variants",
    "Measuring {} in tissue",
    "Dose and response of {}",
)


class Names:
    """A generator of unique names."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._given: set[str] = set()

    def word(self, syllables: int) -> str:
        """A capitalised word."""
        return self._new(lambda: "".join(self._syllable() for _ in range(syllables)).capitalize())

    def code(self) -> str:
        """A code, such as compounds have before they are named."""
        return self._new(
            lambda: f"{''.join(self._draw.sample('BDGKMPRTVX', 3))}{self._draw.randint(1000, 9999)}"
        )

    def person(self) -> str:
        """A first and a last name."""
        return f"{self.word(2)} {self.word(2)}"

    def title(self) -> str:
        """The title of a paper, with a unique word in it."""
        return self._draw.choice(TITLES).format(self.word(3).lower()).capitalize()

    def trial(self) -> str:
        """An acronym with a number, as trials have."""
        return f"{self.word(2).upper()}-{self._draw.randint(1, 9)}"

    def _new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self._given:
            pass
        self._given.add(name)
        return name

    def _syllable(self) -> str:
        return "".join(map(self._draw.choice, (ONSETS, VOWELS, CODAS)))


def misspelt(name: str, draw: random.Random) -> str:
    """The name with two adjacent letters after the fourth swapped."""
    places = [i for i in range(4, len(name) - 1) if name[i] != name[i + 1]]
    place = draw.choice(places)
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def distance(one: str, other: str) -> int:
    """The fewest insertions, deletions and substitutions between two words."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
