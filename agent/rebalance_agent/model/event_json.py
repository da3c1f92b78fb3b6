"""Converts events to JSON objects and back, from the type hints of the dataclasses.

A field that is added to an event needs no change here. All input is checked: kind, names, types, lengths. Partitions
are written as ranges (``{"t": "0-4,7"}``), bytes as base64. The API has other dataclasses of the same field types.
"""

from __future__ import annotations

import base64
import functools
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, cast

from rebalance_agent.errors import DecodeError, InvalidFieldsError, InvalidInputError, WrongField
from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event, GenerationEvent
from rebalance_agent.model.partition_ranges import PartitionRanges, ReportedPartitions, ranges_text
from rebalance_agent.model.partitions import TopicPartitions, from_ranges
from rebalance_agent.visible_names import is_text

__all__ = [
    "ITEMS_MAX",
    "PARTITIONS_MAX",
    "TEXT_MAX",
    "event_from_json",
    "event_to_json",
    "json_line",
    "json_object",
    "value_from_json",
    "value_to_json",
]

_Value = TypeVar("_Value")

TEXT_MAX = 65_536
"""Maximum length of a text, in characters. Kafka's names have at most 32,767 bytes; base64 user data may be longer."""

ITEMS_MAX = 100_000
"""Maximum number of entries of one list or map: more than any group has members or topics."""

PARTITIONS_MAX = 2_000_000
"""Maximum number of partitions in one value: owned and assigned ones in a group that reads all of a large cluster."""


@dataclass(frozen=True, slots=True)
class _Codec:
    encode: Callable[[Any], Any]
    decode: Callable[[str, Any, _Budget], Any]


class _Budget:
    """Partitions that one value may still contain. A range has a few bytes but may expand to millions of numbers."""

    def __init__(self, partitions: int) -> None:
        self._max = self._left = partitions

    def take(self, path: str, partitions: int) -> None:
        self._left -= partitions
        if self._left < 0:
            raise InvalidInputError(path, f"there are more than {self._max} partitions in all")


class _Last:
    """The last generation event and its line, replaced in one assignment so that threads see a matching pair."""

    entry: tuple[GenerationEvent | None, bytes] = None, b""


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the event as a JSON-ready dict: ``kind``, ``schema_version``, then its fields that are not None."""
    return {"kind": event.KIND, "schema_version": SCHEMA_VERSION, **_codec(cast("Any", type(event))).encode(event)}


def json_line(event: Event) -> bytes:
    """Return the event as one line of compact, key-sorted UTF-8 JSON without newline: equal events produce equal bytes.

    A generation event is written by several sinks in a row, so its last line is cached.
    """
    last_event, line = _Last.entry
    if last_event is event:
        return line
    text = json.dumps(event_to_json(event), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    line = text.encode("utf-8", "backslashreplace")
    if isinstance(event, GenerationEvent):
        _Last.entry = event, line
    return line


def json_object(data: bytes | str) -> object:
    """Parse UTF-8 JSON of any shape; the caller bounds its size.

    Raises: InvalidInputError: it is not JSON, or nested too deeply.
    """
    try:
        return cast("object", json.loads(data))
    except (ValueError, RecursionError):
        raise InvalidInputError("", "is not JSON in UTF-8") from None


def event_from_json(data: object, *, partitions_max: int = PARTITIONS_MAX) -> Event:
    """Read an event that `event_to_json` wrote.

    Unknown fields are ignored, since newer releases may add some. ``partitions_max`` bounds the number of partitions in
    the whole event.

    Raises:
        InvalidInputError: fields are missing, too long or of the wrong type; ``faults`` has one error for each.
    """
    return _decode_event("", data, _Budget(partitions_max))


def value_to_json(value: object) -> dict[str, Any]:
    """Return a dataclass as a JSON-ready dict, with fields as in events; None fields are left out."""
    return cast("dict[str, Any]", _codec(cast("Any", type(value))).encode(value))


def value_from_json(kind: type[_Value], data: object) -> _Value:
    """Read a value of ``kind`` that `value_to_json` wrote; ignore unknown fields.

    Raises: InvalidInputError: see `event_from_json`.
    """
    return cast("_Value", _codec(cast("Any", kind)).decode("", data, _Budget(PARTITIONS_MAX)))


def _decode_event(path: str, data: object, budget: _Budget) -> Event:
    if not isinstance(data, dict):
        raise InvalidInputError(path, "an event must be a JSON object")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in EVENT_KINDS:
        raise InvalidInputError(_join(path, "kind"), f"must be one of {', '.join(sorted(EVENT_KINDS))}")
    return cast("Event", _codec(cast("Any", EVENT_KINDS[kind])).decode(path, data, budget))


@functools.cache
def _codec(hint: Any) -> _Codec:  # noqa: ANN401 - no narrower type holds every type hint
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint == Event:
        return _Codec(event_to_json, _decode_event)
    if hint in (TopicPartitions, ReportedPartitions):
        return _Codec(_encode_partitions, functools.partial(_decode_partitions, hint == ReportedPartitions))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Codec(lambda value: value.value, functools.partial(_decode_enum, hint))
    if is_dataclass(hint):
        return _dataclass_codec(cast("type[Any]", hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (_codec(argument) for argument in arguments if argument is not type(None))
        return _Codec(
            lambda value: None if value is None else inner.encode(value),
            lambda path, value, budget: None if value is None else inner.decode(path, value, budget),
        )
    if origin is tuple:
        return _list_codec(_codec(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_codec(_codec(arguments[1]))
    raise TypeError(f"no JSON form for {hint!r}")


def _dataclass_codec(kind: type[Any]) -> _Codec:
    hints = typing.get_type_hints(kind)
    codecs = {item.name: _codec(hints[item.name]) for item in fields(kind)}
    required = {item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING}
    decoders = [(name, codec.decode, name in required) for name, codec in codecs.items()]
    if kind in EVENT_KINDS.values():
        decoders.insert(0, ("schema_version", functools.partial(_decode_int, least=1, end=float("inf")), True))

    def encode(value: Any) -> dict[str, Any]:  # noqa: ANN401
        items = ((name, getattr(value, name), codec) for name, codec in codecs.items())
        return {name: codec.encode(item) for name, item, codec in items if item is not None}

    def decode(path: str, data: object, budget: _Budget) -> Any:  # noqa: ANN401
        entries, prefix = _entries(path, data), _join(path, "")
        values: dict[str, Any] = {}
        faults: list[WrongField] = []
        for name, decode_field, is_required in decoders:
            if is_required or name in entries:
                try:
                    values[name] = decode_field(prefix + name, entries.get(name), budget)
                except InvalidInputError as error:
                    faults += error.faults if name in entries else [WrongField(prefix + name, "is missing")]
        if faults:
            raise InvalidFieldsError(faults)
        values.pop("schema_version", None)
        return kind(**values)

    return _Codec(encode, decode)


def _list_codec(inner: _Codec) -> _Codec:
    def decode(path: str, data: object, budget: _Budget) -> tuple[Any, ...]:
        if not isinstance(data, list) or len(data) > ITEMS_MAX:
            raise InvalidInputError(path, f"must be a list of at most {ITEMS_MAX} entries")
        return tuple(inner.decode(f"{path}[{index}]", value, budget) for index, value in enumerate(data))

    return _Codec(lambda values: [inner.encode(value) for value in values], decode)


def _mapping_codec(inner: _Codec) -> _Codec:
    return _Codec(
        lambda values: {key: inner.encode(value) for key, value in values.items()},
        lambda path, data, budget: {
            key: inner.decode(_join(path, key), value, budget) for key, value in _named(path, data).items()
        },
    )


def _entries(path: str, data: object) -> dict[str, object]:
    if not isinstance(data, dict) or len(data) > ITEMS_MAX:
        raise InvalidInputError(path, f"must be an object of at most {ITEMS_MAX} entries")
    return data


def _named(path: str, data: object) -> dict[str, object]:
    """Return the entries of an object whose names are kept, so that their length must be bounded, too."""
    entries = _entries(path, data)
    if not all(is_text(name, TEXT_MAX) for name in entries):
        raise InvalidInputError(path, f"has a name that is not a text of at most {TEXT_MAX} characters")
    return entries


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _encode_partitions(partitions: ReportedPartitions) -> dict[str, str]:
    return {topic: ranges_text(numbers) for topic, numbers in sorted(partitions.items())}


def _decode_partitions(ranges_kept: bool, path: str, data: object, budget: _Budget) -> dict[str, Sequence[int]]:
    result: dict[str, Sequence[int]] = {}
    for topic, text in sorted(_named(path, data).items()):
        if not isinstance(text, str):
            raise InvalidInputError(_join(path, topic), "must be a text of ranges such as 0-4,7")
        try:
            ranges = PartitionRanges(text)  # counted before they are expanded
            budget.take(_join(path, topic), len(ranges))
            result[topic] = ranges if ranges_kept else from_ranges(text)
        except DecodeError as error:
            raise InvalidInputError(_join(path, topic), str(error)) from None
    return result


def _decode_enum(kind: type[Enum], path: str, data: object, _budget: _Budget) -> Enum:
    try:
        # `Enum` would write a list or object into its error, and deep ones exceed Python's recursion limit.
        return kind(data if isinstance(data, str) else "")
    except ValueError:
        choices = ", ".join(str(choice.value) for choice in kind)
        raise InvalidInputError(path, f"must be one of {choices}") from None


def _decode_text(path: str, data: object, _budget: _Budget) -> str:
    if not is_text(data, TEXT_MAX):
        raise InvalidInputError(path, f"must be a text of at most {TEXT_MAX} characters that UTF-8 can encode")
    return data


def _decode_int(path: str, data: object, _budget: _Budget, least: int = -(2**63), end: float = 2**63) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or not least <= data < end:
        raise InvalidInputError(path, f"must be a {'positive' if least > 0 else '64-bit'} integer")
    return data


def _decode_float(path: str, data: object, _budget: _Budget) -> float:
    # Compared and not converted: JSON has integers that no float can hold, whose conversion raises. NaN compares false.
    if not isinstance(data, int | float) or isinstance(data, bool) or not abs(data) <= sys.float_info.max:
        raise InvalidInputError(path, "must be a finite number")
    return float(data)


def _decode_bool(path: str, data: object, _budget: _Budget) -> bool:
    if not isinstance(data, bool):
        raise InvalidInputError(path, "must be true or false")
    return data


def _decode_bytes(path: str, data: object, budget: _Budget) -> bytes:
    text = _decode_text(path, data, budget)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # not only `binascii.Error`: text that is not ASCII raises its base class
        raise InvalidInputError(path, "must be base64") from None


_SCALARS: dict[Any, _Codec] = {
    str: _Codec(lambda value: value, _decode_text),
    int: _Codec(lambda value: value, _decode_int),
    float: _Codec(lambda value: value, _decode_float),
    bool: _Codec(lambda value: value, _decode_bool),
    bytes: _Codec(lambda value: base64.b64encode(value).decode("ascii"), _decode_bytes),
}
