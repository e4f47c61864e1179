"""Frames and record batches as an Arrow stream."""

from __future__ import annotations

import io
import itertools
import os
from typing import Any, BinaryIO, Callable, Iterable, Iterator, List, Optional, Sequence

#: Bytes of a record batch that is sent. The program holds some batches at once.
_BATCH_BYTES = 8 << 20
_BATCH_ROWS_MIN = 1024

#: Name of the items of an iterator in messages.
_ITEM = "an item of the data"

#: What ends an Arrow stream.
_END = b"\xff\xff\xff\xff\0\0\0\0"

_NO_LIBRARY = (
    "sending this data needs pyarrow (pip install 'inrush[arrow]'); frames of polars need nothing more, "
    "and nanoarrow is enough for other objects with __arrow_c_stream__"
)

Feed = Callable[[BinaryIO], None]


def collected(data: Any) -> Any:
    """An iterator of paths or of rows as a list; other data as it is.

    >>> collected(name for name in ("a.csv", "b.csv")), collected({"id": n} for n in (1, 2))
    (['a.csv', 'b.csv'], [{'id': 1}, {'id': 2}])
    """
    if isinstance(data, io.IOBase):
        raise TypeError("data is an open file; expected is its path")
    if isinstance(data, (set, frozenset)):
        return sorted(data, key=str)
    if not isinstance(data, Iterator) or hasattr(data, "__arrow_c_stream__"):
        return data
    first = list(itertools.islice(data, 1))
    is_row = any(isinstance(one, dict) and not _is_columns(one) for one in first)
    if is_row or any(isinstance(one, (str, os.PathLike)) for one in first):
        return [*first, *data]
    return itertools.chain(first, data)


def paths(data: Any) -> Optional[List[str]]:
    """The files that data names; None for data that has rows itself.

    >>> paths("part-*.parquet"), paths(["a.csv", "b.csv"]), paths({"id": [1]})
    (['part-*.parquet'], ['a.csv', 'b.csv'], None)
    """
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and data:
        if all(isinstance(one, (str, os.PathLike)) for one in data):
            return [os.fspath(one) for one in data]
    return None


def length(data: Any) -> Optional[int]:
    """Number of rows, where the data knows it."""
    if hasattr(data, "num_rows"):
        return int(data.num_rows)
    return len(data) if type(data).__name__ == "DataFrame" else None


def feed(data: Any) -> Feed:
    """A function that writes data as an Arrow stream.

    Only a complete stream has an end marker: the program loads no stream without it.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return _feed_of_polars(data) if hasattr(data, "write_ipc_stream") else _feed_of_nanoarrow(data)
    reader = _reader(pa, data)
    if not reader.schema.names:
        raise ValueError("the data has no columns")

    def write(sink: BinaryIO) -> None:
        writer: Any = None
        for batch in reader.to_batches() if isinstance(reader, pa.Table) else reader:
            for part in _parts(pa, batch):
                if writer is None:
                    writer = pa.ipc.new_stream(sink, part.schema)
                writer.write_batch(part)
        if writer is None:
            writer = pa.ipc.new_stream(sink, _without_views(pa, reader.schema))
        writer.close()

    return write


def _feed_of_polars(frame: Any) -> Feed:
    """The feed of a frame of polars, which writes streams of one batch by itself: their batches, as one stream."""
    import polars as pl

    rows = max(_BATCH_ROWS_MIN, _BATCH_BYTES * len(frame) // max(frame.estimated_size(), 1))
    slices = frame.iter_slices(rows) if len(frame) > rows else iter([frame])

    def write(sink: BinaryIO) -> None:
        is_first = True
        for part in slices:
            stream = part.write_ipc_stream(None, compat_level=pl.CompatLevel.oldest()).getbuffer()
            # A message is a marker, the bytes of its head, and the head: the first one has the schema and no body.
            schema = 8 + int.from_bytes(stream[4:8], "little")
            sink.write(stream[0 if is_first else schema : -len(_END)])
            is_first = False
        sink.write(_END)

    return write


def _feed_of_nanoarrow(data: Any) -> Feed:
    if not hasattr(data, "__arrow_c_stream__"):
        raise ImportError(_NO_LIBRARY)
    try:
        from nanoarrow.ipc import StreamWriter
    except ImportError:
        raise ImportError(_NO_LIBRARY) from None

    def write(sink: BinaryIO) -> None:
        writer = StreamWriter.from_writable(sink)
        try:
            writer.write_stream(data, write_schema=True)
        except BaseException:
            writer.release()
            raise
        writer.close()

    return write


def _reader(pa: Any, data: Any, what: str = "data") -> Any:
    """A reader of record batches, or a table. Messages call the data ``what``."""
    if _is_pandas(data):
        return _of_pandas(pa, data)
    if isinstance(data, pa.Table):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:
            if "non-struct" not in str(error):
                raise
            raise TypeError(
                f"{what} is one column ({type(data).__name__}); expected is a frame, such as "
                "to_frame() makes"
            ) from None
    if type(data).__module__ == "pyarrow._dataset" and hasattr(data, "to_batches"):
        return (data if hasattr(data, "to_reader") else data.scanner()).to_reader()
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    if isinstance(data, dict):
        if not _is_columns(data):
            raise TypeError(
                f"{what} is a dictionary of values; expected is a sequence for each column, or a "
                "list of such dictionaries"
            )
        return pa.table(data)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], dict):
        return _of_records(pa, data)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray)):
        return _of_iterator(pa, iter(data))
    if type(data).__name__ == "LazyFrame":
        raise TypeError(f"{what} is a LazyFrame; expected is its frame, data.collect()")
    raise TypeError(
        f"{what} is a {type(data).__name__}; expected a path, a list of paths, a frame with "
        "__arrow_c_stream__, a DataFrame of pandas, or an iterator of record batches"
    )


def _of_records(pa: Any, rows: Sequence[Any]) -> Any:
    """A table with the keys of all dictionaries, in order of appearance. A missing key is NULL."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _is_columns(data: Any) -> bool:
    """True for a dictionary of columns, false for one of a row's values."""
    columns = data.values()
    texts = (str, bytes, dict)
    return all(hasattr(one, "__iter__") and not isinstance(one, texts) for one in columns)


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _of_pandas(pa: Any, frame: Any) -> Any:
    """A table with the columns of a frame, and its index if the index has names."""
    has_names = all(name is not None for name in frame.index.names)
    return pa.Table.from_pandas(frame, preserve_index=has_names)


def _of_iterator(pa: Any, data: Iterator[Any]) -> Any:
    """A reader of an iterator's batches, all of which get the types of the first."""
    try:
        first = _reader(pa, next(data), _ITEM)
    except StopIteration:
        raise ValueError(
            "the data has no record batch and no row, so the columns are unknown"
        ) from None
    schema = first.schema.remove_metadata()

    def batches() -> Iterator[Any]:
        yield from _with_schema(pa, _table(pa, first), schema).to_batches()
        for one in data:
            table = _table(pa, _reader(pa, one, _ITEM))
            names = table.schema.names
            if names != schema.names:
                if sorted(names) != sorted(schema.names) or len(set(names)) < len(names):
                    raise ValueError(
                        f"the columns of this record batch are {', '.join(names)}; expected are "
                        f"those of the first one: {', '.join(schema.names)}"
                    )
                table = table.select(schema.names)
            yield from _with_schema(pa, table, schema).to_batches()

    return _Batches(schema, batches())


def _table(pa: Any, reader: Any) -> Any:
    return reader if isinstance(reader, pa.Table) else reader.read_all()


def _with_schema(pa: Any, table: Any, schema: Any) -> Any:
    """The table with the types of a schema. A type that would change a value is an error."""
    for field, column in zip(schema, table.columns):
        if not _fits(pa, column, field.type):
            raise ValueError(
                f"column {field.name} has type {column.type} in this record batch and {field.type} "
                "in the first one, which does not hold these values exactly: give all batches one type"
            )
    return table.cast(schema)


def _fits(pa: Any, column: Any, kind: Any) -> bool:
    """True if a column has the same values in another type. pyarrow checks some of its casts only."""
    old = column.type
    if _widens(pa, old, kind) or column.null_count == len(column):
        return True
    is_number_as_text = pa.types.is_integer(old) and _family(pa, kind) == "text"
    if not is_number_as_text and (_family(pa, old) is None or _family(pa, old) != _family(pa, kind)):
        return False
    try:
        back = column.cast(kind).cast(old)
    except pa.ArrowException:
        return False
    if not pa.types.is_floating(old):
        return bool(back.equals(column))
    import pyarrow.compute as pc

    # NaN equals nothing.
    same = pc.or_(pc.equal(back, column), pc.and_(pc.is_nan(back), pc.is_nan(column)))
    return pc.all(same).as_py() is not False


def _widens(pa: Any, old: Any, new: Any) -> bool:
    """True if all values of a type are those of another one without a conversion."""
    kinds = pa.types
    if old == new or kinds.is_null(old):
        return True
    if all(kinds.is_list(one) or kinds.is_large_list(one) for one in (old, new)):
        return _widens(pa, old.value_type, new.value_type)
    if kinds.is_struct(old) and kinds.is_struct(new) and old.num_fields == new.num_fields:
        fields = [(old.field(index), new.field(index)) for index in range(old.num_fields)]
        return all(a.name == b.name and _widens(pa, a.type, b.type) for a, b in fields)
    return False


def _family(pa: Any, kind: Any) -> Optional[str]:
    """The family of a type within which values can be the same; None for nested types."""
    kinds = pa.types
    if kinds.is_dictionary(kind):
        return _family(pa, kind.value_type)
    if kinds.is_timestamp(kind):
        return "time" if kind.tz is None else "moment"
    families = {
        "number": (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal),
        "time": (kinds.is_date,),
        "clock": (kinds.is_time,),
        "duration": (kinds.is_duration,),
    }
    for family, members in families.items():
        if any(is_member(kind) for is_member in members):
            return family
    name = str(kind)
    if name in ("string", "large_string", "string_view"):
        return "text"
    return "bytes" if "binary" in name.split("[")[0] else None


class _Batches:
    """Record batches with their schema. Unlike a reader of pyarrow it keeps their exceptions."""

    def __init__(self, schema: Any, batches: Iterator[Any]) -> None:
        self.schema = schema
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self._batches

    def read_all(self) -> Any:
        import pyarrow as pa

        return pa.Table.from_batches(list(self._batches), schema=self.schema)


def _parts(pa: Any, batch: Any) -> Iterator[Any]:
    """A batch in parts of some MiB, without copies."""
    schema = _without_views(pa, batch.schema)
    is_same = schema is batch.schema
    bytes_per_row = max(_size(pa, batch) // max(batch.num_rows, 1), 1)
    rows = max(_BATCH_BYTES // bytes_per_row, _BATCH_ROWS_MIN)
    for start in range(0, batch.num_rows, rows):
        part = batch.slice(start, rows)
        # Views of a part would be sent with the bytes of the whole batch.
        yield part if is_same else _cast(pa, part, schema)


def _size(pa: Any, batch: Any) -> int:
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        # Before version 22, pyarrow has no size of views.
        return int(batch.get_total_buffer_size())


def _cast(pa: Any, batch: Any, schema: Any) -> Any:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema)]
    return pa.record_batch(columns, schema=schema)


def _without_views(pa: Any, schema: Any) -> Any:
    """The schema with plain texts and bytes for views; the same object if it has no views."""
    plain = [_plain(pa, field.type) for field in schema]
    if all(new is field.type for new, field in zip(plain, schema)):
        return schema
    fields = [field.with_type(new) for new, field in zip(plain, schema)]
    return pa.schema(fields, metadata=schema.metadata)


def _plain(pa: Any, kind: Any) -> Any:
    name = str(kind)
    if name == "string_view":
        return pa.large_string()
    if name == "binary_view":
        return pa.large_binary()
    if name.startswith(("list<", "large_list<")) and "_view" in name:
        of = pa.list_ if name.startswith("list<") else pa.large_list
        return of(kind.value_field.with_type(_plain(pa, kind.value_type)))
    if name.startswith("struct<") and "_view" in name:
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([field.with_type(_plain(pa, field.type)) for field in fields])
    return kind


def insert_method(table: Any, connection: Any, keys: Sequence[str], rows: Iterable[Any]) -> int:
    """For ``DataFrame.to_sql(..., method=inrush.insert_method)``.

    pandas creates the table; the rows are added by Inrush over a connection of its own, so they
    stay if the transaction of pandas is rolled back. The connection's engine names the server.
    """
    from .commands import load

    if getattr(table, "if_exists", None) == "delete_rows":
        # pandas would commit the deletion in spite of the error.
        connection.exec_driver_sql("ROLLBACK")
        raise ValueError(
            'if_exists="delete_rows" deletes the rows in the transaction of pandas, whose locks '
            "the load would wait for: inrush.load(frame, into, mode=\"replace\", connection=..) "
            "replaces the rows"
        )
    name = f"{table.schema}.{table.name}" if table.schema else table.name
    report = load(_of_to_sql(table, list(keys), list(rows)), name, connection=connection,
                  mode="append")
    return report.rows


def _of_to_sql(table: Any, keys: List[str], rows: List[Any]) -> Any:
    """The frame itself, if the rows are all of it: its types are exact. Else the rows."""
    import pyarrow as pa

    frame = table.frame
    if len(rows) != len(frame):
        return pa.table([pa.array(column) for column in zip(*rows)], names=keys)
    if table.index is not None:
        frame = frame.copy(deep=False)
        frame.index = frame.index.set_names(table.index)
        frame = frame.reset_index()
    frame = frame.set_axis([str(name) for name in frame.columns], axis="columns")
    return pa.Table.from_pandas(frame[keys], preserve_index=False)
