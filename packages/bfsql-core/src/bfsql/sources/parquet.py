"""The rows of Parquet files, read in batches.

| in the file | becomes |
|---|---|
| dates, times, timestamps | ISO 8601 text, to the microsecond; with a time zone in UTC |
| lists; structs and maps | lists; objects |
| decimals | the number, or its digits if no float equals it |
| binary | text if it is UTF-8; other values are left out |

Columns of other types are left out, and a note of the account names them. Memory holds one batch,
and the library's data for its row group.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text, json_number
from bfsql.models.load import SourceAccount
from bfsql.sources.files import PACKED, check_library
from bfsql.sources.headers import check_each_once

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
"""Rows that are unpacked at a time."""
MAX_BATCH_BYTES = 1 << 30
"""Maximum bytes of these rows, unpacked: a few kilobytes may unpack to any number of them."""
_DEEPEST = 50
"""Maximum nesting depth of types."""

Convert = Callable[[Any], Any]


class ParquetTable:
    """An inspected Parquet file; its rows can be read any number of times.

    Args:
        path: The file.
        account: The account of the file, which notes what is left out.

    Raises:
        SourceError: The library is not installed, or the file is not Parquet.
    """

    def __init__(self, path: Path, account: SourceAccount) -> None:
        check_library(path, "Parquet", "pyarrow", "parquet")
        self.path = path
        self._account = account
        self._binary: dict[str, int] = {}
        schema = self._schema()
        check_each_once(path, schema.names)
        self._readings: dict[str, _Reading] = {}
        for field in schema:
            reading = _reading(field.type, self._binary_of(field.name))
            if reading is not None:
                self._readings[field.name] = reading
                continue
            reason = f"was left out, because values of the type {field.type} cannot be read"
            account.note(f"the column {field.name!r} {reason}")

    @property
    def names(self) -> list[str]:
        """The readable columns, in the order of the file."""
        return list(self._readings)

    def rows(self, only: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row as a mapping from column to value; missing values are absent.

        Args:
            only: The columns to read, if not all.

        Raises:
            SourceError: The file is damaged.
        """
        import pyarrow.parquet as pq

        self._binary.clear()
        names = self.names if only is None else [name for name in self.names if name in only]
        # A text that the file holds once for many rows is held once in memory, too.
        texts = [name for name in names if _is_text(self._readings[name].type)]
        with _faults(self.path), pq.ParquetFile(self.path, read_dictionary=texts) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
                if (size := sum(map(_unpacked_bytes, batch.columns))) > MAX_BATCH_BYTES:
                    raise SourceError(self.path, _too_large(f"{size:,} bytes"))
                columns = [_values(batch.column(n), self._readings[n]) for n in names]
                for values in zip(*columns, strict=True):
                    row = zip(names, values, strict=True)
                    yield {name: value for name, value in row if value is not None}
        for name, number in self._binary.items():
            self._account.note(f"{number:,} binary values of the column {name!r} were left out")

    def _schema(self) -> pa.Schema:
        import pyarrow.parquet as pq

        if self.path.suffix.lower() in PACKED:
            packed = "Zstandard" if self.path.suffix.lower() == ".zst" else "gzip"
            reason = (
                f"Parquet has compression of its own and cannot be read from {packed}; decompress "
                "the file first"
            )
            raise SourceError(self.path, reason)
        with _faults(self.path), pq.ParquetFile(self.path) as file:
            return file.schema_arrow

    def _binary_of(self, name: str) -> Convert:
        def binary(value: bytes) -> str | None:
            try:
                if 0 not in value:
                    return value.decode()
            except UnicodeDecodeError:
                pass
            self._binary[name] = self._binary.get(name, 0) + 1
            return None

        return binary


def _is_text(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _unpacked_bytes(column: pa.Array) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.DictionaryArray) and _is_text(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64()).take(column.indices)
        return int(pc.sum(lengths).as_py() or 0)
    return int(column.nbytes)


def _values(column: pa.Array, reading: _Reading) -> list[Any]:
    import pyarrow as pa

    convert = reading.convert
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if column.type != reading.type:
        column = column.cast(reading.type, safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = [_surrogates(value) for value in column.cast(pa.binary()).to_pylist()]
    except (ValueError, OverflowError):  # a year outside the range of Python's dates
        values = column.cast(pa.string()).to_pylist()
        convert = None
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowMemoryError as error:
        raise SourceError(path, _too_large("more memory than is available")) from error
    except pa.ArrowException as error:
        raise SourceError(path, _damaged(error)) from error
    except OSError as error:
        # pyarrow raises plain OSErrors without an errno for faults of the content.
        if error.errno is not None:
            raise
        raise SourceError(path, _damaged(error)) from error


def _too_large(size: str) -> str:
    return (
        f"{BATCH_ROWS:,} of its rows unpack to {size}, and at most {MAX_BATCH_BYTES >> 30} GB are "
        "read; leave out the column with the longest values, or shorten them"
    )


def _damaged(error: Exception) -> str:
    first = str(error).partition("\n")[0].rstrip(".")
    return f"is not a Parquet file, or it is damaged ({first}); is it complete?"


class _Reading(NamedTuple):
    """The type as which a column is read, and the conversion to plain values."""

    type: Any
    convert: Convert | None = None


def _reading(type_: Any, binary: Convert, depth: int = 0) -> _Reading | None:
    """How values of a type are read, or None if they cannot be."""
    import pyarrow as pa

    if depth > _DEEPEST:
        return None
    if pa.types.is_dictionary(type_):
        return _reading(type_.value_type, binary, depth + 1)
    if isinstance(type_, pa.BaseExtensionType):
        return _reading(type_.storage_type, binary, depth + 1)
    if pa.types.is_nested(type_):
        return _nested(type_, lambda part: _reading(part, binary, depth + 1))
    return _scalar(type_, binary)


def _nested(type_: Any, read: Callable[[Any], _Reading | None]) -> _Reading | None:
    import pyarrow as pa

    is_ = pa.types
    parts = [read(type_.field(number).type) for number in range(type_.num_fields)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or is_.is_union(type_):
        return None
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        if len(set(names)) < len(names):
            return None
        types = pa.struct([(name, part.type) for name, part in zip(names, known, strict=True)])
        converts = [part.convert for part in known]
        return _Reading(types, _of_struct(dict(zip(names, converts, strict=True))))
    if is_.is_map(type_):
        key, item = read(type_.key_type), read(type_.item_type)
        if key is None or item is None:
            return None
        return _Reading(pa.map_(key.type, item.type), _of_map(key.convert, item.convert))
    return _Reading(pa.list_(known[0].type), _of_list(known[0].convert)) if known else None


def _scalar(type_: Any, binary: Convert) -> _Reading | None:
    import pyarrow as pa

    is_ = pa.types
    aware = is_.is_timestamp(type_) and type_.tz is not None
    kinds: list[tuple[Callable[[Any], bool], Any, Convert | None]] = [
        (is_.is_timestamp, pa.timestamp("us"), _utc if aware else iso_text),
        (is_.is_time, pa.time64("us"), iso_text),
        (is_.is_duration, pa.duration("us"), iso_text),
        (is_.is_date, type_, iso_text),
        (is_.is_decimal, type_, json_number),
        (is_.is_float16, pa.float32(), None),
        (is_.is_fixed_size_binary, pa.binary(), binary),
        (is_.is_binary, type_, binary),
        (is_.is_large_binary, type_, binary),
        (is_.is_binary_view, pa.binary(), binary),
        (is_.is_string_view, pa.string(), None),
    ]
    plain = (is_.is_null, is_.is_boolean, is_.is_integer, is_.is_floating, is_.is_string)
    kinds += [(of_kind, type_, None) for of_kind in (*plain, is_.is_large_string)]
    return next((_Reading(to, convert) for of_kind, to, convert in kinds if of_kind(type_)), None)


def _utc(value: dt.datetime) -> str:
    return iso_text(value.replace(tzinfo=dt.UTC))


def _of_map(key: Convert | None, item: Convert | None) -> Convert:
    keys, items = _of_list(key) or list, _of_list(item) or list

    def mapping(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        written = (str(key) for key in keys([key for key, _ in pairs]))
        return dict(zip(written, items([value for _, value in pairs]), strict=True))

    return mapping


def _of_list(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: [None if value is None else convert(value) for value in values]


def _of_struct(converts: dict[str, Convert | None]) -> Convert | None:
    def struct(value: dict[str, Any]) -> dict[str, Any]:
        return {
            key: item if item is None or (convert := converts[key]) is None else convert(item)
            for key, item in value.items()
        }

    return struct if any(converts.values()) else None


def _surrogates(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "surrogateescape")
