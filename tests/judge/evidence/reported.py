"""Reads the observer's events from JSON. Only this module contains the names of their fields."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

GENERATION, ABORTED, GONE = "generation", "aborted", "group_gone"
SEAT, NOT_DONE = "seat", ("failed", "refused", "predicted")


@dataclass(frozen=True)
class Reported:
    """One event. ``lower_s`` and ``upper_s`` bound the stall (None: not reported); ``exact`` if members measured it.

    ``at_ms`` is the time of its record; ``stalled_s`` and ``stalled_upper_s`` bound the stalled partition-seconds.
    """

    id: str
    revision: int
    kind: str
    group: str
    number: int
    at_ms: float
    closes: bool = False
    started_ms: float | None = None
    trigger: str | None = None
    causes: tuple[str, ...] = ()
    lower_s: float | None = None
    upper_s: float | None = None
    exact: bool = False
    stalled_s: float | None = None
    stalled_upper_s: float | None = None
    previous: int | None = None
    moved: int | None = None
    lost: int | None = None
    members: int = 0

    @property
    def bounded(self):
        """Whether the event has both bounds."""
        return self.lower_s is not None and self.upper_s is not None


def read_event(row):
    """Return the event of a decoded JSON object; None for kinds that are not judged."""
    kind = row.get("kind")
    if kind not in (GENERATION, ABORTED, GONE):
        return None
    stall = row.get("stall") or {}
    return Reported(
        id=row["event_id"],
        revision=row.get("revision", 0),
        kind=kind,
        group=row["group"],
        number=row.get("generation", -1),
        at_ms=row["timestamp_ms"],
        closes=bool(row.get("closes_episode")),
        started_ms=(row.get("phases") or {}).get("started_ms"),
        trigger=row.get("trigger"),
        causes=tuple(row.get("causes") or ()),
        lower_s=stall.get("lower_seconds"),
        upper_s=stall.get("upper_seconds", stall.get("seconds")),
        exact=stall.get("basis") == "exact",
        stalled_s=stall.get("partition_seconds"),
        stalled_upper_s=stall.get("upper_partition_seconds"),
        previous=row.get("previous_generation"),
        moved=row.get("moved"),
        lost=row.get("lost"),
        members=len(row.get("members") or ()),
    )


def published(rows):
    """Return all published events in order, from rows with ``value`` in bytes; parts after the first are left out."""
    for value in _values(rows):
        if value.get("part", 0) == 0 and (event := read_event(value)):
            yield event


def kept(events):
    """Return the events that a reader keeps: for each id the first one of the highest revision."""
    found = {}
    for event in events:
        if event.id not in found or event.revision > found[event.id].revision:
            found[event.id] = event
    return list(found.values())


def occupants(rows):
    """Return member id -> client id of the consumer that has the member's seat, from rows as in `published`.

    The coordinator gives each consumer that takes a seat a new member id, but still reports the client id of the
    first one. A gateway publishes an act only once the coordinator's answer has the member id.
    """
    found = {}
    for value in _values(rows):
        if value.get("kind") == SEAT and value["outcome"] not in NOT_DONE and value.get("client_id"):
            found[value["member_id"]] = value["client_id"]
    return found


def _values(rows):
    for row in rows:
        with suppress(TypeError, ValueError):
            yield json.loads(row["value"])
