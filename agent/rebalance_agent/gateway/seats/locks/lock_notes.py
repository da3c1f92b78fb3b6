"""Encodes and decodes notes in locks: gateways announce free seats, and newcomers that wait for a seat, to each other.

The text is the note of a lock (`LockBeat`). Notes are needed because DescribeGroups does not show which other assignors
a seat's member offered, the member's timeouts, or whether the member leads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rebalance_agent.gateway.seats.group_facts import FreeSeat, WaitingElsewhere
from rebalance_agent.gateway.seats.locks.lock_frames import NOTE_CHARACTERS_MAX, LockHolder
from rebalance_agent.gateway.seats.seat import Seat

__all__ = ["WAITING_PREFIX", "offer_note", "offered_member", "offered_seats", "waiting_elsewhere", "waiting_note"]

WAITING_PREFIX = "rebalance-agent-waiting-"
"""Prefix of the instance id of a lock without a seat; the lock's note lists the newcomers that wait at its gateway."""

WAITING_MAX = 1_000
"""Maximum number of newcomers in one entry: as many as a gateway may hold."""

_OFFER = re.compile(r"1 (?P<fingerprint>[0-9a-f]{32}) (?P<leads>[01]) (?P<member_id>.+)", re.DOTALL)
_WAITING = re.compile(r"([0-9a-f]{32}):([0-9]{1,3}):([0-9]{1,4})")


def offer_note(seat: Seat) -> str | None:
    """Return the note for a vacant seat's lock; None if no newcomer could be compared with the seat's last member."""
    if seat.profile is None or not seat.member_id:
        return None
    note = f"1 {seat.profile.fingerprint} {seat.leads:d} {seat.member_id}"
    return note if len(note) <= NOTE_CHARACTERS_MAX else None


def offered_member(note: str) -> str:
    """Return the member id in a note from `offer_note`; empty for any other note."""
    match = _OFFER.fullmatch(note)
    return "" if match is None else match["member_id"]


def offered_seats(locks: Iterable[LockHolder], members: Mapping[str, str]) -> dict[str, tuple[FreeSeat, str]]:
    """Return the seats that other gateways offer, and the notes of these seats' locks, by instance id.

    ``members``: instance id -> member id, for the group's static members. An offer ends when the seat has another
    member or no member, although the lock is described until its session ends.
    """
    offered = {}
    for lock in locks:
        match = _OFFER.fullmatch(lock.note or "")
        if lock.released and match is not None and members.get(lock.instance_id) == match["member_id"]:
            free = FreeSeat(lock.instance_id, match["fingerprint"], leads=match["leads"] == "1")
            offered[lock.instance_id] = free, lock.note or ""
    return offered


def waiting_note(waiting: Mapping[WaitingElsewhere, int]) -> str:
    """Return the note with the number of waiting newcomers by kind; if not all kinds fit, only the most frequent."""
    entries, length = [], 1
    for one, number in sorted(waiting.items(), key=lambda item: (-item[1], item[0].fingerprint, item[0].version)):
        entry = f"{one.fingerprint}:{one.version}:{min(number, WAITING_MAX)}"
        length += 1 + len(entry)
        if length > NOTE_CHARACTERS_MAX:
            break
        entries.append(entry)
    return " ".join(["1", *entries])


def waiting_elsewhere(locks: Iterable[LockHolder], own: str) -> tuple[WaitingElsewhere, ...]:
    """Return the newcomers that wait at other gateways; ``own``: the instance id of this gateway's own note."""
    waiting: list[WaitingElsewhere] = []
    for lock in locks:
        version, *entries = (lock.note or "").split(" ")
        if (
            lock.released
            or version != "1"
            or lock.instance_id == own
            or not lock.instance_id.startswith(WAITING_PREFIX)
        ):
            continue
        for fingerprint, join_version, number in filter(None, map(_entry, entries)):
            waiting += [WaitingElsewhere(fingerprint, join_version)] * min(number, WAITING_MAX)
    return tuple(waiting)


def _entry(text: str) -> tuple[str, int, int] | None:
    match = _WAITING.fullmatch(text)
    return None if match is None else (match[1], int(match[2]), int(match[3]))
