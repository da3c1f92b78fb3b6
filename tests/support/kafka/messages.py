"""Hypothesis strategies that are built from the record tables, so a new table needs no new strategy."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from rebalance_agent.groupprotocol.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.groupprotocol.wire import primitives
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["FUTURE", "MESSAGES", "fields_of", "messages", "mutated", "of_the_future", "without_future"]

MESSAGES: tuple[Message, ...] = (
    tuple({table.value.name: table.value for table in RECORDS.values()}.values())
    + tuple({table.key.name: table.key for table in RECORDS.values()}.values())
    + (SUBSCRIPTION, ASSIGNMENT)
)
"""All tables of records and keys, and those of the consumer protocol."""

FUTURE = "future_"
"""Prefix of fields that exist only in future messages."""

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_BASIC: dict[int, st.SearchStrategy[Any]] = {
    id(primitives.INT8): st.integers(-(2**7), 2**7 - 1),
    id(primitives.INT16): st.integers(-(2**15), 2**15 - 1),
    id(primitives.UINT16): st.integers(0, 2**16 - 1),
    id(primitives.INT32): st.integers(-(2**31), 2**31 - 1),
    id(primitives.INT64): st.integers(-(2**63), 2**63 - 1),
    id(primitives.STRING): _TEXT,
    id(primitives.BYTES): st.binary(max_size=24),
    id(primitives.UUID): st.binary(min_size=16, max_size=16).map(
        lambda raw: base64.urlsafe_b64encode(raw).decode()[:22]
    ),
}


def fields_of(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Values for all fields of ``version``."""
    present = [field for field in fields if field.since <= version <= field.until]
    return st.fixed_dictionaries({field.name: _values(field, version) for field in present})


@st.composite
def messages(draw, among: tuple[Message, ...] = MESSAGES) -> tuple[Message, int, dict[str, Any]]:
    """A table, one of its versions and values for it."""
    message = draw(st.sampled_from(among))
    version = draw(st.sampled_from(message.versions))
    return message, version, draw(fields_of(message.fields, version))


@st.composite
def mutated(draw, data: bytes) -> bytes:
    """``data`` with some bytes changed, removed or inserted, or truncated."""
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(damaged)))
        match draw(st.sampled_from(["change", "cut", "insert", "end"])):
            case "change":
                damaged[at : at + 1] = draw(st.sampled_from([b"\0", b"\1", b"\x7f", b"\x80", b"\xff"]))
            case "cut":
                del damaged[at : at + draw(st.integers(1, 4))]
            case "insert":
                damaged[at:at] = draw(st.binary(min_size=1, max_size=4))
            case _:
                del damaged[at:]
    return bytes(damaged)


def of_the_future(message: Message) -> Message:
    """The message as a later Kafka might write it: with more tagged fields in each struct, at every depth."""
    since = message._flexible_since
    if since is None:
        return message
    later = (
        Field(f"{FUTURE}number", primitives.INT32, since=since, tag=40, default=0),
        Field(f"{FUTURE}text", primitives.STRING, since=since, nullable_since=since, tag=900, default=None),
    )
    return Message(message.name, *_later(message.fields, later), versions=message.versions, flexible_since=since)


def without_future(value: Any) -> tuple[Any, int]:
    """The value of such a message without the new fields, and the number of new fields with a value of their own."""
    if isinstance(value, list):
        pairs = [without_future(item) for item in value]
        return [item for item, _ in pairs], sum(sent for _, sent in pairs)
    if not isinstance(value, dict):
        return value, 0
    today = {name: without_future(inner) for name, inner in value.items() if not name.startswith(FUTURE)}
    later = sum(inner not in (0, None) for name, inner in value.items() if name.startswith(FUTURE))
    return {name: inner for name, (inner, _) in today.items()}, later + sum(sent for _, sent in today.values())


def _later(fields: tuple[Field, ...], more: tuple[Field, ...]) -> tuple[Field, ...]:
    def later(type_: Any) -> Any:
        if isinstance(type_, primitives.Array):
            return primitives.Array(later(type_.of))
        return Struct(*_later(type_.fields, more)) if isinstance(type_, Struct) else type_

    return (*(replace(field, type=later(field.type)) for field in fields), *more)


def _values(field: Field, version: int) -> st.SearchStrategy[Any]:
    values = _of_type(field.type, version)
    nullable = field.nullable_since is not None and version >= field.nullable_since
    return st.none() | values if nullable else values


def _of_type(type_: Any, version: int) -> st.SearchStrategy[Any]:
    if isinstance(type_, primitives.Array):
        return st.lists(_of_type(type_.of, version), max_size=4)
    if isinstance(type_, Struct):
        return fields_of(type_.fields, version)
    return _BASIC[id(type_)]
