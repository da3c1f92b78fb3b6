"""Random messages of Kafka's schemas, from kafka-python's own definitions."""

from __future__ import annotations

import uuid

from hypothesis import strategies as st

__all__ = ["framed_answers", "messages"]

_INTS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@st.composite
def messages(draw, kind, version):
    """A message of ``kind`` with random values in every field of ``version``."""
    return kind(version=version, **_drawn(draw, kind.fields.values(), version))


@st.composite
def framed_answers(draw, kind, version, correlation_id=7):
    """An encoded answer, header and body."""
    message = draw(messages(kind, version))
    message.with_header(correlation_id=correlation_id)
    return bytes(message.encode(header=True))


def _drawn(draw, fields, version):
    return {field.name: _value(draw, field, version) for field in fields if field.for_version_q(version)}


def _value(draw, field, version):
    if field.nullable_for_version_q(version) and draw(st.booleans()):
        return None
    if field.is_struct_array():
        return [
            field(version=version, **_drawn(draw, field.fields.values(), version))
            for _ in range(draw(st.integers(0, 3)))
        ]
    if field.is_struct():
        return field(version=version, **_drawn(draw, field.fields.values(), version))
    if field.is_array():
        return draw(st.lists(_plain(field.type_str.removeprefix("[]")), max_size=3))
    return draw(_plain(field.type_str))


def _plain(kind):
    if kind in _INTS:
        return st.integers(-(2 ** (_INTS[kind] - 1)), 2 ** (_INTS[kind] - 1) - 1)
    return {
        "bool": st.booleans(),
        "string": st.text(max_size=200),
        "bytes": st.binary(max_size=200),
        "uuid": st.uuids().filter(lambda each: each != uuid.UUID(int=0)),
        "bitfield": st.none() | st.sets(st.integers(0, 30), max_size=5),
    }[kind]
