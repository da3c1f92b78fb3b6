"""Every target by its name."""

from __future__ import annotations

from fuzz.targets import asked, commands, configured, coordinator, frames, judged, kept, members, posted, web

__all__ = ["TARGETS"]

TARGETS = {
    each.name: each
    for module in (asked, commands, configured, coordinator, frames, judged, kept, members, posted, web)
    for each in module.TARGETS
}
