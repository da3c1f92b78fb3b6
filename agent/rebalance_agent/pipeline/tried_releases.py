"""The reasons of rejections that end with an upgrade: they show which release has tried to read a value."""

from __future__ import annotations

from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION

__all__ = ["AWAITS_RELEASE", "UNREAD_BY_RELEASE"]

UNREAD_BY_RELEASE = {
    "newer_schema": f"this release reads schema versions up to {SCHEMA_VERSION}",
    "unknown_kind": f"this release reads {', '.join(sorted(EVENT_KINDS))}",
}
"""Code of a rejection after which a newer release may read the value -> the beginning of the explanation."""

AWAITS_RELEASE = (
    f"reason rlike '^({'|'.join(UNREAD_BY_RELEASE)}): ' AND NOT ( "
    + " OR ".join(f"startswith( reason , '{code}: {text};')" for code, text in UNREAD_BY_RELEASE.items())
    + " )"
)
"""SQL: whether an older release rejected a row of `events_rejected`, and this release can perhaps read it.

Blanks separate the column, as in every `Table.rank`.
"""
