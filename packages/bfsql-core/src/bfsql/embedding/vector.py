"""What came back as a vector: is it one?"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from numbers import Real
from typing import Any

from bfsql.errors import EmbeddingFailed


def checked(value: Any, name: str, dimensions: int | None) -> array[float]:
    """The vector as numbers.

    Args:
        value: A list, a tuple, an array of numpy: anything with `tolist`.
        name: Where it is from; the sentence begins with it.
        dimensions: The length that it has to have, or None.

    Raises:
        EmbeddingFailed: It is no vector, or one of another length.
    """
    try:
        numbers = _numbers(value)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise EmbeddingFailed(f"{name} gave no vector: {wrong}.", lasting=True) from wrong
    if dimensions is not None and len(numbers) != dimensions:
        raise EmbeddingFailed(
            f"{name} gave a vector of {len(numbers)} dimensions where {dimensions} are due. "
            "It has to be one model with one length: look at embedding and embedding_dimensions.",
            lasting=True,
        )
    return numbers


def _numbers(value: Any) -> array[float]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, Sequence) or isinstance(plain, (str, bytes, bytearray)):
        raise TypeError(f"it gave {_kind(value)}, and a list of numbers is due")
    if not plain:
        raise ValueError("it gave an empty list")
    for one in plain:
        if not _is_number(one):
            raise TypeError(f"there is {_kind(one)} in its list, and numbers alone are due")
    numbers = array("d", map(float, plain))
    if not all(map(math.isfinite, numbers)):
        raise ValueError("there are numbers in its list that are not finite")
    if not any(numbers):
        raise ValueError("all its numbers are zero, which is near to nothing")
    return numbers


def _is_number(one: object) -> bool:
    return isinstance(one, Real) and not isinstance(one, bool)


def _kind(value: object) -> str:
    kind = "nothing (None)" if value is None else f"a value of the type {type(value).__name__}"
    return f"{kind} of length {len(value)}" if isinstance(value, (list, tuple)) else kind
