"""Conditions in Spark's expressions that `event_patterns` cannot express: order, sums, and two fields compared.

The values are those that `from_json` reads from a line that matches the pattern of its kind. A condition may be false
or null for a valid event, but is true for no other.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import ArrayType, IntegerType

from rebalance_agent.model.event_json import PARTITIONS_MAX
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.pipeline.ingest.event_patterns import PARTITIONS, PARTITIONS_OF_TOPIC_MAX, field_hints, inner_hint
from rebalance_agent.pipeline.ingest.number_limits import PARTS_MAX

__all__ = ["COMPARED", "has_maps", "is_certain", "is_map", "let"]

COMPARED = frozenset(
    {"part", "parts", "generation", "episode_generation", "unassigned", "closes_episode", "member_id"}
    | {"started_ms", "completed_ms", "seconds", "lower_seconds"}
)
"""Fields that the conditions read, beside all maps."""

_TOUCHING = r"(?<![0-9])([0-9]*)(?:" + "|".join(rf"{n},(?:\1){n + 1}" for n in range(9)) + r"|9,[0-9]*0)(?![0-9])"
"""Matches neighbours such as ``3,4``, which the codec writes as ``3-4``; and a few others, such as ``9,20``."""

_PARTITIONS_BEYOND = 2**31


def is_certain(kind: type[Event], event: Column) -> Column:
    """Whether the codec accepts an event whose line matches the pattern, and writes the same line again."""
    certain = F.lit(True)
    if has_maps(kind):
        certain &= F.forall(_of_maps(kind, event, lambda _, values: F.map_keys(values)), _ascends)
        texts = _of_maps(kind, event, lambda hint, values: F.map_values(values) if hint in PARTITIONS else None)
        certain &= let(F.flatten(texts), lambda ranges: _in_order(ranges) & _few(ranges))
    if kind is GenerationEvent:
        certain &= _agrees(event)
    return certain


def let(value: Column, then: Callable[[Column], Column]) -> Column:
    """Return ``then(value)``, which evaluates ``value`` once, however often it is used."""
    return F.get(F.transform(F.array(value), then), F.lit(0))


def is_map(hint: Any) -> bool:  # noqa: ANN401 - no narrower type holds every type hint
    """Whether values of this type are JSON objects with names that are data."""
    origin = typing.get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def has_maps(hint: Any) -> bool:  # noqa: ANN401
    """Whether values of this type contain maps."""
    hint = inner_hint(hint)
    if is_dataclass(hint):
        return any(map(has_maps, field_hints(hint).values()))
    return is_map(hint) or (typing.get_origin(hint) is tuple and has_maps(typing.get_args(hint)[0]))


def _of_maps(hint: Any, value: Column, read: Callable[[Any, Column], Column | None]) -> Column:  # noqa: ANN401
    """Return an array with what ``read`` returns for each map in ``value``."""
    hint = inner_hint(hint)
    if is_map(hint):
        found = read(hint, value)
        return F.array().cast("array<array<string>>") if found is None else F.array_compact(F.array(found))
    if is_dataclass(hint):
        inner = {name: inner for name, inner in field_hints(hint).items() if has_maps(inner)}
        return F.concat(*(_of_maps(inner[name], value[name], read) for name in inner))
    (item, *_) = typing.get_args(hint)
    return F.flatten(F.transform(value, lambda each: _of_maps(item, each, read)))


def _ascends(values: Column) -> Column:
    return (F.size(values) < 2) | (values == F.sort_array(F.array_distinct(values)))  # noqa: PLR2004 - nothing to compare


def _in_order(ranges: Column) -> Column:
    """Whether each text of ranges is ascending, as the codec demands, and joined where it can be, as it writes them."""

    def in_order(joined: Column) -> Column:
        lists = F.concat(F.lit("[["), F.translate(F.replace(joined, F.lit(";"), F.lit("],[")), "-", ","), F.lit("]]"))
        ascending = F.forall(F.from_json(lists, ArrayType(ArrayType(IntegerType()))), _ascends)
        several = F.contains(joined, F.lit(","))
        return (~several | ~joined.rlike(_TOUCHING)) & ((~several & ~F.contains(joined, F.lit("-"))) | ascending)

    return let(F.array_join(F.array_distinct(ranges), ";"), in_order)


def _few(ranges: Column) -> Column:
    """Whether there are at most `PARTITIONS_MAX` partitions; they are counted only if there are many topics."""
    return (F.size(ranges) <= PARTITIONS_MAX // PARTITIONS_OF_TOPIC_MAX) | (_partitions(ranges) <= PARTITIONS_MAX)


def _partitions(ranges: Column) -> Column:
    """Return the number of partitions in texts of ranges, of which none is empty."""

    def count(joined: Column) -> Column:
        commas = F.length(joined) - F.length(F.replace(joined, F.lit(",")))
        spans = F.regexp_extract_all(joined, F.lit("[0-9]+-[0-9]+"), F.lit(0))
        more = F.aggregate(spans, F.lit(0).cast("long"), lambda total, span: total + _last(span) - _first(span))
        return F.when(joined == "", 0).otherwise(commas + 1 + more)

    return let(F.array_join(ranges, ","), count)


def _first(span: Column) -> Column:
    return F.substring_index(span, "-", 1).cast("long")


def _last(span: Column) -> Column:
    return F.substring_index(span, "-", -1).cast("long")


def _agrees(event: Column) -> Column:
    """Return what `require_bounds` and `require_whole` demand of several fields of a generation."""
    phases, stall, members = event["phases"], event["stall"], event["members"]
    assigned = _partitions(F.flatten(F.transform(members, lambda member: F.map_values(member["assigned"]))))
    return (
        (event["part"] < event["parts"])
        & (event["parts"] <= PARTS_MAX)
        & (event["episode_generation"] <= event["generation"])
        & (phases["started_ms"].isNull() | (phases["started_ms"] <= phases["completed_ms"]))
        & (stall.isNull() | event["closes_episode"])
        & (stall["seconds"].isNull() | (stall["lower_seconds"] <= stall["seconds"]))
        & ((event["parts"] > 1) | (F.size(F.array_distinct(members["member_id"])) == F.size(members)))
        & let(
            _sum(F.map_values(event["topics"])),
            lambda total: (
                (total < _PARTITIONS_BEYOND) & ((event["parts"] > 1) | (assigned + event["unassigned"] >= total))
            ),
        )
    )


def _sum(numbers: Column) -> Column:
    return F.aggregate(numbers, F.lit(0).cast("long"), lambda total, number: total + number)
