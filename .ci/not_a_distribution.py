"""The build backend of the repository's root, which refuses: the distributions are in packages/."""

import sys
from typing import Any, NoReturn

MESSAGE = """
The root of this repository is not a distribution. Install what you need from packages/:

    pip install ./packages/bfsql-core ./packages/bfsql-sqlite
"""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    sys.exit(MESSAGE)


get_requires_for_build_wheel = get_requires_for_build_sdist = get_requires_for_build_editable = (
    _refuse
)
build_wheel = build_sdist = build_editable = _refuse
