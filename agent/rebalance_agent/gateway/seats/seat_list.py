"""Encodes and decodes the list of saved seats as JSON. It has names, ids and hashes of settings, not credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, OfferedAssignor
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.model.group import GroupType

__all__ = ["LIST_BYTES_MAX", "SeatList", "decode_seats", "encode_seats"]

LIST_BYTES_MAX = 4 * 1024 * 1024
"""Largest list in bytes: this is enough for about 9,000 seats. Groups that do not fit are left out."""

FORMAT = 1
"""The version of the format; a list with another version is not read."""

_SEAT = {
    "instance_id": str,
    "member_id": str,
    "generation": int,
    "version": int,
    "leads": bool,
    "returned": bool,
    "vacant": bool,
}
_ASSIGNOR = ("name", "topics", "rack", "user_data")


@dataclass(frozen=True, slots=True)
class SeatList:
    """Group -> the group's seats, and the time (epoch ms) at which they were saved."""

    saved_ms: int
    groups: Mapping[str, tuple[SavedSeat, ...]] = field(default_factory=dict)


def encode_seats(seats: SeatList) -> bytes:
    """Return the list as JSON of at most `LIST_BYTES_MAX`; if not all groups fit, only the first groups."""
    size, entries = 100, []
    for group, saved in seats.groups.items():
        entry = f"{json.dumps(group)}: {json.dumps([_entry(one, seats.saved_ms) for one in saved])}"
        size += len(entry) + 3
        if size > LIST_BYTES_MAX:
            break
        entries.append(entry)
    text = ",\n".join(entries)
    return f'{{"format": {FORMAT}, "saved_ms": {seats.saved_ms}, "groups": {{\n{text}\n}}}}\n'.encode()


def decode_seats(data: bytes) -> SeatList:
    """Read the list that `encode_seats` wrote.

    Raises:
        DecodeError: ``data`` is not such a list, or is larger than `LIST_BYTES_MAX`.
    """
    if len(data) > LIST_BYTES_MAX:
        raise DecodeError(f"the list has more than {LIST_BYTES_MAX} bytes")
    try:
        read = json.loads(data)
        if read["format"] != FORMAT:
            raise DecodeError("the list has an unknown format")
        saved_ms = _of(int, read["saved_ms"])
        groups = {
            group: tuple(_seat(entry, saved_ms) for entry in entries) for group, entries in read["groups"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DecodeError(f"it is not a list of seats: {error!r:.200}") from None
    return SeatList(saved_ms, groups)


def _entry(one: SavedSeat, saved_ms: int) -> dict[str, Any]:
    """Return a seat as JSON. Times are absolute and in whole seconds, so the list changes only if a seat changes."""
    entry = {name: getattr(one, name) for name in _SEAT}
    profile = one.profile
    entry["kept_until"] = round(saved_ms / 1000 + one.kept_seconds) if one.vacant else 0
    entry["partitions"] = one.partitions
    entry["protocol_type"] = profile.protocol_type
    entry["group_type"] = one.group_type
    entry["timeouts_ms"] = [profile.session_timeout_ms, profile.rebalance_timeout_ms]
    entry["assignors"] = [[getattr(offer, name) for name in _ASSIGNOR] for offer in profile.assignors]
    return entry


def _seat(entry: dict[str, Any], saved_ms: int) -> SavedSeat:
    session_ms, rebalance_ms = (_of(int, value) for value in entry["timeouts_ms"])
    offers = (OfferedAssignor(*(_of(str, value) for value in offer)) for offer in entry["assignors"])
    vacant = entry["vacant"]
    return SavedSeat(
        **{name: _of(kind, entry[name]) for name, kind in _SEAT.items()},
        profile=JoinProfile(_of(str, entry["protocol_type"]), tuple(offers), session_ms, rebalance_ms),
        group_type=GroupType(entry.get("group_type", GroupType.CLASSIC)),  # lists of earlier releases have no type
        partitions=max(0, _of(int, entry.get("partitions", 0))),
        kept_seconds=max(0.0, _of(int, entry["kept_until"]) - saved_ms / 1000) if vacant else 0.0,
    )


def _of(kind: type, value: Any) -> Any:  # noqa: ANN401 - JSON
    if type(value) is not kind:
        raise TypeError(f"{value!r:.100} is not a valid {kind.__name__}")
    return value
