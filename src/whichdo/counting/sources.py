"""Where rows come from: what a source is, and its columns, chunk by chunk.

A source is one or more *parts*: a table in memory, or files.  A part knows the names of its columns and hands over the
columns that are asked for in chunks, each column a numpy array, an Arrow array or a list.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.parts import Source, check_names, plain_name
from whichdo.errors import DataError, UsageError
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


SOURCES = (
    "a dict of arrays, a pandas, Polars or PyArrow frame, Arrow record batches, a path to a CSV or Parquet "
    "file (or a list or glob of them), a table of a database as Ibis has it, or a Tally"
)


@contextmanager
def opened(data: object, known: frozenset[str] = frozenset()) -> Iterator[Source]:
    """The parts of a source, whatever kind it is; files are closed at the end.  ``known`` names are looked for."""
    if isinstance(data, (str, os.PathLike)) or _is_paths(data):
        from whichdo.counting.log_files import Files

        with Files([data] if isinstance(data, (str, os.PathLike)) else data, known) as files:  # type: ignore[arg-type]
            yield Source(files.parts, files.repeated, files.unverified)
    elif isinstance(data, Mapping):
        yield Source([DictPart(data)])
    elif type(data).__module__.split(".")[0] == "ibis":
        from whichdo.counting.warehouse import TablePart, is_warehouse_table

        if not is_warehouse_table(data):
            raise UsageError(f"A {type(data).__name__} of Ibis is not a table. Give a table expression.")
        part = TablePart(data)
        with part.engine.snapshot():
            yield Source([part])
    elif (batches := _arrow_batches(data)) is not None:
        yield Source([batches])
    else:
        yield Source([_frame(data)])


def _is_paths(data: object) -> bool:
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(d, (str, os.PathLike)) for d in data)


class DictPart:
    """A dict of columns: arrays, series or lists of equal length."""

    name = None

    def __init__(self, data: Mapping[Any, Any]) -> None:
        self.columns = [plain_name(name) for name in data]
        check_names(self.columns, "The data")
        self._data = [_column(value, name) for name, value in zip(self.columns, data.values(), strict=True)]
        lengths = {name: len(column) for name, column in zip(self.columns, self._data, strict=True)}
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"The columns have different lengths: {_unequal(lengths)}. Every row needs a value in each."
            )
        self.rows = next(iter(lengths.values()), 0)

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Slices, without a copy where the column is an array."""
        for first in range(0, self.rows, size):
            yield [self._data[j][first : first + size] for j in wanted]

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The number of the row."""
        return f"Row {row + 1:,}"


class FramePart:
    """A frame of any library that narwhals knows."""

    name = None

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._frame, self._lazy = frame, lazy
        self._names = frame.collect_schema().names()
        self.columns = [plain_name(name) for name in self._names]
        check_names(self.columns, "The frame")
        self.rows: int | None = None if lazy else len(frame)

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Slices as Arrow arrays."""
        frame = self._frame.select([self._names[j] for j in wanted])
        frame = frame.collect() if self._lazy else frame
        series = [frame[self._names[j]] for j in wanted]
        for first in range(0, len(frame), size):
            yield [_arrow(column[first : first + size]) for column in series]

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The number of the row."""
        return f"Row {row + 1:,}"


class BatchPart:
    """Arrow record batches, read as they come: a reader's are gone afterwards."""

    name = None

    def __init__(self, names: Sequence[str], batches: Iterable[Any], rows: int | None) -> None:
        self.columns = [plain_name(name) for name in names]
        check_names(self.columns, "The batch")
        self._batches, self.rows = batches, rows

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Slices of the batches' own columns."""
        for batch in self._batches:
            for first in range(0, batch.num_rows, size):
                yield [batch.column(j).slice(first, size) for j in wanted]

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The number of the row, over all batches."""
        return f"Row {row + 1:,}"


def _arrow_batches(data: Any) -> BatchPart | None:
    """A record batch, a list of them or a reader of them; None for anything else."""
    given = data if isinstance(data, (list, tuple)) else [data]
    if not given or any(type(one).__module__.split(".")[0] != "pyarrow" for one in given):
        return None
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        return BatchPart(data.schema.names, _read(data), None)
    if not all(isinstance(one, pa.RecordBatch) for one in given):
        return None
    for place, one in enumerate(given):
        if one.schema.names != given[0].schema.names:
            raise DataError(
                f"Batch {place + 1:,} has the columns {listed(map(quoted, one.schema.names))}, the first "
                f"{listed(map(quoted, given[0].schema.names))}. Batches of one log have the same columns in one order."
            )
    return BatchPart(given[0].schema.names, given, sum(one.num_rows for one in given))


def _read(reader: Any) -> Iterator[Any]:
    """The batches of a reader; what its source raises is an error of ours."""
    import pyarrow as pa

    try:
        yield from reader
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"The batches cannot be read to their end: {error}") from None


def _frame(data: object) -> FramePart:
    import narwhals.stable.v2 as nw

    _check_repeats(data)
    try:
        frame = nw.from_native(data)  # type: ignore[call-overload]
    except TypeError:
        raise UsageError(f"Data of type {type(data).__name__} cannot be counted. Give {SOURCES}.") from None
    return FramePart(frame, lazy=isinstance(frame, nw.LazyFrame))


def _check_repeats(data: Any) -> None:
    """Frames whose names repeat are refused by narwhals in its own words, so they are looked at before."""
    library = type(data).__module__.split(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        check_names([plain_name(name) for name in data.columns], "The frame")
    elif library == "pyarrow" and hasattr(data, "column_names"):
        check_names([plain_name(name) for name in data.column_names], "The frame")


def _arrow(series: Any) -> Any:
    """A series as an Arrow array, or as a list where it holds what Arrow has no type for."""
    import pyarrow as pa

    native = series.to_native()
    kind = getattr(native, "dtype", None)
    if str(getattr(getattr(kind, "categories", None), "dtype", kind)).startswith("interval"):
        return _interval_texts(native)
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError):
        return series.to_list()


def _interval_texts(series: Any) -> Any:
    """Intervals of pandas, such as `pandas.cut` makes, as the strings they are written as."""
    import pyarrow as pa

    series = series if hasattr(series, "cat") else series.astype("category")
    return pa.array(series.cat.rename_categories(series.cat.categories.astype(str)))


def _column(value: Any, name: str) -> Any:
    """A column that can be cut into slices: an array, an Arrow array, or a list."""
    if np.ma.isMaskedArray(value):
        return value.tolist()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise DataError(f"Column {quoted(name)} is an array of {value.ndim} dimensions; a column has one.")
        return value
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        raise DataError(
            f"Column {quoted(name)} is a {type(value).__name__}, {quoted(value)}; a column is an array or a list."
        )
    if isinstance(value, (list, tuple)):
        return _from_list(value)
    return _from_series(value, name)


def _from_series(value: Any, name: str) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(value, (dict, set, frozenset)):
        raise DataError(
            f"Column {name} is a {type(value).__name__}, which has no order of rows. Give a list or an array; of a "
            f"pandas frame give the frame itself, or to_dict('list')."
        )

    try:
        return _arrow(nw.from_native(value, series_only=True))
    except TypeError:
        pass
    if hasattr(value, "__array__"):
        return _column(np.asarray(value), name)
    return _from_list(list(value))


def _from_list(values: Sequence[Any]) -> Any:
    """A list as an array where all its values are of one plain kind; numpy would turn mixed ones into strings."""
    kinds = set(map(type, values))
    try:
        if kinds and (kinds <= {int, bool} or kinds <= {float, int}):
            array = np.array(values)
            return array if array.dtype.kind in "biuf" and array.ndim == 1 else list(values)
        if kinds and kinds <= {str, type(None)}:
            import pyarrow as pa

            return pa.array(values, pa.string())
    except (ValueError, OverflowError):  # texts that are no UTF-8, numbers that are too large
        pass
    return list(values)


def _unequal(lengths: Mapping[str, int]) -> str:
    most = Counter(lengths.values()).most_common(1)[0][0]
    usual = next(name for name, length in lengths.items() if length == most)
    others = [f"{name} {length:,}" for name, length in lengths.items() if length != most]
    return f"{usual} has {most:,} rows, {listed(others)}"
