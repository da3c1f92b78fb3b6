"""Decodes usual events by Spark's own expressions, so that only the others are moved to Python.

An event is decoded here only if it is certain that the codec accepts it and writes it again as the same text: its line
matches `event_pattern`, and the values that `from_json` reads from it meet `native_checks`. All other records, and so
every rejection, are left to the codec: an event can be missed here, but nothing is decided against it.
"""

from __future__ import annotations

import typing
from dataclasses import is_dataclass
from enum import Enum
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

from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event
from rebalance_agent.pipeline.ingest.decoding import DECODED, LOCATION_COLUMNS
from rebalance_agent.pipeline.ingest.event_patterns import TEXT_MAX, event_pattern, field_hints, inner_hint
from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX, EventRow
from rebalance_agent.pipeline.ingest.native_checks import COMPARED, is_certain, is_map, let

__all__ = ["native_rows", "remaining_records", "with_native_events"]

_EVENT = "event"
"""Column for the columns of an event that is decoded here; null for a record that the codec must read."""

_READ = COMPARED | {"timestamp_ms", *EventRow._fields}
"""Fields that are read from a line, beside its maps."""

_SCALARS: dict[Any, DataType] = {str: StringType(), int: LongType(), float: DoubleType(), bool: BooleanType()}


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
    parsed = F.from_json(text, typing.cast("StructType", _type("", kind)))
    row = let(parsed, lambda event: F.when(is_certain(kind, event), _row(kind, event)))
    return F.when(text.rlike(_whole(event_pattern(kind))), row)


def _row(kind: type[Event], event: Column) -> Column:
    values = {name: event[name] for name in field_hints(kind) if name in EventRow._fields}
    values |= {"kind": F.lit(kind.KIND), "schema_version": F.lit(SCHEMA_VERSION)}
    values |= {"timestamp": F.timestamp_millis(event["timestamp_ms"])}
    values = {"part": F.lit(0), "parts": F.lit(1), **values}
    types = {name: DECODED[name].dataType for name in EventRow._fields if name != "body"}
    return F.struct(*(values.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()))


def _type(name: str, hint: Any) -> DataType | None:  # noqa: ANN401 - no narrower type holds every type hint
    """Return Spark's type for what is read of a field; None if nothing is."""
    hint = inner_hint(hint)
    if is_map(hint):
        return MapType(StringType(), _SCALARS.get(typing.get_args(hint)[1], StringType()))
    if is_dataclass(hint):
        types = {name: _type(name, inner) for name, inner in field_hints(hint).items()}
        read = [StructField(name, kind) for name, kind in types.items() if kind is not None]
        return StructType(read) if read else None
    if typing.get_origin(hint) is tuple:
        item = _type("", typing.get_args(hint)[0])
        return None if item is None else ArrayType(item)
    if name not in _READ:
        return None
    return StringType() if isinstance(hint, type) and issubclass(hint, Enum) else _SCALARS[hint]
