"""Decodes usual events by Spark's own expressions, so that only the others are moved to Python.

An event is decoded here only if it is certain that the codec accepts it and writes it again as the same text: its line
matches `event_pattern`, and the values that `from_json` reads from it meet `native_checks`. All other records, and so
every rejection, are left to the codec: an event can be missed here, but nothing is decided against it.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from enum import Enum
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)
from pyspark.storagelevel import StorageLevel

from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event
from rebalance_agent.pipeline.ingest.decoding import DECODED, LOCATION_COLUMNS, decode
from rebalance_agent.pipeline.ingest.event_patterns import TEXT_MAX, event_pattern, field_hints, inner_hint
from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX, EventRow
from rebalance_agent.pipeline.ingest.native_checks import COMPARED, is_certain, is_map, let

__all__ = ["decoded", "decoded_once", "native_rows", "remaining_records", "with_native_events"]

_EVENT = "event"
"""Column for the columns of an event that is decoded here; null for a record that the codec must read."""

_COLUMNS = frozenset({"timestamp_ms", *EventRow._fields})
_READ = COMPARED | _COLUMNS
"""Fields that are read from a line, beside its maps."""

_SCALARS: dict[Any, DataType] = {str: StringType(), int: LongType(), float: DoubleType(), bool: BooleanType()}


def decoded(records: DataFrame) -> DataFrame:
    """Decode each record into a row of `DECODED`: an event, or a rejected record (``reason`` is not null).

    Each evaluation reads ``records`` twice: for the events that are decoded here, and for those left to the codec.
    """
    read = with_native_events(records)
    return native_rows(read).unionByName(_by_codec(read))


@contextmanager
def decoded_once(records: DataFrame) -> Iterator[DataFrame]:
    """Yield the rows of `decoded`; however often they are evaluated, each record is read and decoded once."""
    # In memory the rows would be uncompressed and leave too little for sorting and writing.
    read = with_native_events(records).persist(StorageLevel.DISK_ONLY)
    left = _by_codec(read).persist(StorageLevel.DISK_ONLY)
    try:
        yield native_rows(read).unionByName(left)
    finally:
        left.unpersist()
        read.unpersist()


def _by_codec(read: DataFrame) -> DataFrame:
    return remaining_records(read).mapInArrow(decode, DECODED)


def with_native_events(records: DataFrame) -> DataFrame:
    """Return the records with a column that holds each event that is decoded here; persist the result."""
    text = F.col("value").cast("string")
    event = F.when(~_is_short(text), None)
    for kind in EVENT_KINDS.values():
        event = event.when(F.contains(text, F.lit(f'"kind":"{kind.KIND}"')), _matching_event(kind, text))
    return records.select("key", "value", *LOCATION_COLUMNS, event.alias(_EVENT))


def native_rows(records: DataFrame) -> DataFrame:
    """Return the rows of `decoding.DECODED` for the events that are decoded here."""
    columns = {name: F.col(f"{_EVENT}.{name}") for name in EventRow._fields if name != "body"}
    columns |= {name: F.col(name) for name in LOCATION_COLUMNS if name != "file"}
    columns["body"] = F.col("value").cast("string")
    values = {field.name: columns.get(field.name, F.lit(None)).cast(field.dataType) for field in DECODED}
    return records.where(F.col(_EVENT).isNotNull()).select(*(value.alias(name) for name, value in values.items()))


def remaining_records(records: DataFrame) -> DataFrame:
    """Return the records that the codec must read."""
    return records.where(F.col(_EVENT).isNull()).select("key", "value", *LOCATION_COLUMNS)


def _is_short(text: Column) -> Column:
    """Whether neither a value nor a text in it is too long."""
    short = F.forall(F.split(text, '"'), lambda part: F.length(part) <= TEXT_MAX)
    return (F.octet_length(text) <= TEXT_MAX) | ((F.octet_length(text) <= EVENT_BYTES_MAX) & short)


def _whole(pattern: str) -> str:
    return rf"\A{pattern}\z"


def _matching_event(kind: type[Event], text: Column) -> Column:
    def row_if_certain(event: Column) -> Column:
        return F.when(_is_read(kind, event) & is_certain(kind, event), _row(kind, event))

    parsed = F.from_json(text, typing.cast("StructType", _type("", kind)))
    return F.when(text.rlike(_whole(event_pattern(kind))), let(parsed, row_if_certain))


def _is_read(kind: type[Event], event: Column) -> Column:
    """Whether Spark's reader has read the line: it returns nulls for what exceeds a limit of its own."""
    needed = [name for name, hint in field_hints(kind).items() if name in _COLUMNS and inner_hint(hint) is hint]
    return reduce(and_, (event[name].isNotNull() for name in needed))


def _row(kind: type[Event], event: Column) -> Column:
    values = {name: event[name] for name in field_hints(kind) if name in EventRow._fields}
    values |= {"kind": F.lit(kind.KIND), "schema_version": F.lit(SCHEMA_VERSION)}
    values |= {"timestamp": F.timestamp_millis(event["timestamp_ms"])}
    values = {"part": F.lit(0), "parts": F.lit(1), **values}
    types = {name: DECODED[name].dataType for name in EventRow._fields if name != "body"}
    return F.struct(*(values.get(name, F.lit(None)).cast(wanted).alias(name) for name, wanted in types.items()))


def _type(name: str, hint: Any) -> DataType | None:  # noqa: ANN401 - no narrower type holds every type hint
    """Return Spark's type for what is read of a field; None if nothing is."""
    hint = inner_hint(hint)
    if is_map(hint):
        return MapType(StringType(), _SCALARS.get(typing.get_args(hint)[1], StringType()))
    if is_dataclass(hint):
        types = {name: _type(name, inner) for name, inner in field_hints(hint).items()}
        read = [StructField(name, inner) for name, inner in types.items() if inner is not None]
        return StructType(read) if read else None
    if typing.get_origin(hint) is tuple:
        item = _type("", typing.get_args(hint)[0])
        return None if item is None else ArrayType(item)
    if name not in _READ:
        return None
    return StringType() if isinstance(hint, type) and issubclass(hint, Enum) else _SCALARS[hint]
