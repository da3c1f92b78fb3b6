"""The features of record tables: versions, null, tags, nested structs; and data that the reader rejects."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    ZERO_UUID,
    Array,
)
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

ENDPOINT = Struct(Field("host", STRING), Field("port", UINT16))
FLEXIBLE = Message(
    "Flexible",
    Field("epoch", INT32),
    Field("endpoint", ENDPOINT, nullable_since=0),
    Field("seen", INT64, tag=0, default=0),
    Field("backup", ENDPOINT, tag=1, nullable_since=0, default=None),
    Field("epochs", Array(INT32), tag=2, default=()),
    versions=range(1),
    flexible_since=0,
)
CLASSIC = Message(
    "Classic",
    Field("name", STRING),
    Field("state", INT8, since=1, until=1, default=-1),
    Field("owner", STRING, since=1, nullable_since=2, default="nobody"),
    Field("rows", Array(Struct(Field("id", UUID), Field("data", BYTES), Field("kinds", Array(INT16))))),
    versions=range(3),
)
BARE = {"epoch": 5, "endpoint": None}


def refused(message, data):
    with pytest.raises(DecodeError) as caught:
        message.decode(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_nullable_struct_has_a_byte_marker_in_a_plain_field_and_a_varint_marker_in_a_tagged_one():
    assert FLEXIBLE.encode(0, BARE) == b"\0\0" + b"\0\0\0\5" + b"\xff" + b"\0"
    there = FLEXIBLE.encode(
        0, {"epoch": 5, "endpoint": {"host": "a", "port": 65535}, "backup": {"host": "b", "port": 1}}
    )
    assert there == b"\0\0\0\0\0\5" + b"\1\2a\xff\xff\0" + b"\1" + b"\1\6" + b"\1\2b\0\1\0"
    assert FLEXIBLE.decode(there).fields == {
        "epoch": 5,
        "endpoint": {"host": "a", "port": 65535},
        "seen": 0,
        "backup": {"host": "b", "port": 1},
        "epochs": (),
    }


def test_absent_tagged_fields_have_their_defaults_and_defaults_are_not_sent():
    data = FLEXIBLE.encode(0, {**BARE, "seen": 0, "backup": None, "epochs": []})
    assert data.endswith(b"\xff\0")
    assert FLEXIBLE.decode(data).fields == {**BARE, "seen": 0, "backup": None, "epochs": ()}


def test_unknown_tags_are_skipped_and_counted_at_every_depth():
    inner = b"\1\2a\0\7" + b"\1\x0c\2zz"
    data = b"\0\0\0\0\0\5" + inner + b"\3" + b"\0\x08" + bytes(7) + b"\x09" + b"\x05\0" + b"\x80\1\1x"
    decoded = FLEXIBLE.decode(data)
    assert decoded.fields["seen"] == 9
    assert decoded.fields["endpoint"] == {"host": "a", "port": 7}
    assert decoded.unknown_tags == 3


def test_unknown_tags_inside_a_tagged_struct_are_counted():
    data = b"\0\0\0\0\0\5\xff\1" + b"\1\7" + b"\1\1\0\1\1\x09\0"
    decoded = FLEXIBLE.decode(data)
    assert decoded.fields["backup"] == {"host": "", "port": 1}
    assert decoded.unknown_tags == 1


def test_fields_exist_from_their_first_version_to_their_last():
    rows = [{"id": ZERO_UUID, "data": b"xy", "kinds": (1, -2)}]
    values = {"name": "n", "state": 3, "owner": "o", "rows": rows}
    assert CLASSIC.decode(CLASSIC.encode(0, values)).fields == {"name": "n", "rows": rows}
    assert CLASSIC.decode(CLASSIC.encode(1, values)).fields == values
    assert CLASSIC.decode(CLASSIC.encode(2, values)).fields == {"name": "n", "owner": "o", "rows": rows}


def test_an_encoder_uses_defaults_and_names_wrong_fields():
    assert CLASSIC.decode(CLASSIC.encode(2, {"name": "n", "rows": []})).fields["owner"] == "nobody"
    row = {"id": ZERO_UUID, "data": b"", "kinds": []}
    for fields, problem in [
        ({"rows": []}, "name: is missing"),
        ({"name": "x" * 40_000, "rows": []}, "name: "),
        ({"name": "\ud800", "rows": []}, "name: "),
        ({"name": None, "rows": []}, "name: may not be null"),
        ({"name": "n", "rows": [{**row, "kinds": [1, 40_000]}]}, "rows.kinds: "),
        ({"name": "n", "rows": [{**row, "id": "short"}]}, "rows.id: 'short' is not a UUID"),
        ({"name": "n", "rows": [{**row, "id": 7}]}, "rows.id: "),
        ({"name": "n", "rows": 7}, "rows: "),
        ({"name": 7, "rows": []}, "name: "),
    ]:
        with pytest.raises(InvalidInputError) as caught:
            CLASSIC.encode(0, fields)
        assert str(caught.value).startswith(problem)
    with pytest.raises(InvalidInputError, match="version: Classic has versions 0 to 2, not 3"):
        CLASSIC.encode(3, {"name": "n", "rows": []})


def test_null_is_refused_before_the_version_that_allows_it():
    name = b"\0\1n"
    assert refused(CLASSIC, b"\0\1" + name + b"\0" + b"\xff\xff").startswith("Classic v1.owner: null")
    assert CLASSIC.decode(b"\0\2" + name + b"\xff\xff" + bytes(4)).fields["owner"] is None
    assert "epochs: null" in refused(FLEXIBLE, b"\0\0\0\0\0\5\xff\1" + b"\2\1\0")


def test_an_error_has_the_problem_the_field_and_the_byte():
    row = b"\0" * 16 + b"\0\0\0\0" + b"\0\0\0\0"
    data = b"\0\0" + b"\0\1n" + b"\0\0\0\2" + row + b"\0" * 16 + b"\0\0\0\x09" + b"abcd"
    assert (
        refused(CLASSIC, data)
        == f"Classic v0.rows[1].data: a length of 9 bytes, but only 4 are left at byte {len(data) - 4}"
    )
    assert refused(CLASSIC, b"\0\0\0\2a\xff") == "Classic v0.name: text is not UTF-8 at byte 5"
    assert refused(CLASSIC, b"\0") == "Classic: 2 bytes are needed, but only 1 are left at byte 0"
    tagged = b"\0\0\0\0\0\5\xff\1" + b"\1\x09" + b"\1\2\xff\0\1\0xyz"
    assert refused(FLEXIBLE, tagged) == "Flexible v0.backup.host: text is not UTF-8 at byte 12"


def test_a_known_tag_must_hold_exactly_its_field():
    head = b"\0\0\0\0\0\5\xff\1"
    assert "seen: 8 bytes are needed, but only 7 are left" in refused(FLEXIBLE, head + b"\0\7" + bytes(7))
    assert "seen: 1 unexpected bytes" in refused(FLEXIBLE, head + b"\0\x09" + bytes(9))


@pytest.mark.parametrize("count", [b"\x7f\xff\xff\xff", b"\0\0\0\3", b"\0\xff\xff\xff"])
def test_an_impossible_count_is_refused_before_reading_elements(count):
    assert "a count of" in refused(CLASSIC, b"\0\0\0\0" + count + bytes(40))


@pytest.mark.parametrize("varint", [b"\xff\xff\xff\xff\xff\1", b"\xff\xff", b""])
def test_an_overlong_varint_is_refused(varint):
    assert "varint" in refused(FLEXIBLE, b"\0\0\0\0\0\5\xff" + varint)


@pytest.mark.parametrize(("length", "varint"), [(126, b"\x7f"), (127, b"\x80\1"), (16_383, b"\x80\x80\1")])
def test_a_long_string_has_a_varint_of_several_bytes(length, varint):
    fields = {**BARE, "endpoint": {"host": "x" * length, "port": 1}}
    data = FLEXIBLE.encode(0, fields)
    assert data[7 : 7 + len(varint)] == varint
    assert FLEXIBLE.decode(data).fields["endpoint"] == fields["endpoint"]


def test_a_truncated_tag_or_uuid_is_refused():
    assert "a length of 9 bytes, but only 1 are left" in refused(FLEXIBLE, b"\0\0\0\0\0\5\xff\1" + b"\7\x09x")
    plain = Message("Plain", Field("id", UUID), versions=range(1))
    assert "Plain v0.id: a length of 16 bytes, but only 15 are left" in refused(plain, bytes(17))


def test_a_claim_of_four_billion_tags_ends_at_the_last_byte():
    assert "varint" in refused(FLEXIBLE, b"\0\0\0\0\0\5\xff" + b"\xff\xff\xff\xff\x0f" + b"\x09\0" * 3)


def test_unsafe_tables_cannot_be_defined():
    with pytest.raises(TypeError, match="without bytes"):
        Message("Endless", Field("rows", Array(Struct())), versions=range(1))
    with pytest.raises(TypeError, match="has no tags"):
        Message("Tagless", Field("seen", INT64, tag=0, default=0), versions=range(1))
    with pytest.raises(TypeError, match="seen has a tag and needs a default"):
        Field("seen", INT64, tag=0)


def test_an_unknown_version_has_no_fields_and_is_no_error():
    decoded = CLASSIC.decode(b"\0\3 anything")
    assert (decoded.version, decoded.fields) == (3, None)
