"""Draws the spans of one rebalance, as processes send them: ``docs/images/trace.svg`` (``make docs``)."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from rebalance_agent.model.episode import Basis, Evidence, Phases, Source, Stall, Trigger
from rebalance_agent.model.events import AssignEvent, Callback, Event, GenerationEvent, MemberEvent
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.traces.event_traces import EventTraces
from rebalance_agent.traces.span import Span

IMAGE = Path(__file__).parents[2] / "images" / "trace.svg"
WIDTH, ROW, NAMES, MARGIN = 860, 24, 230, 16
INK, FAINT, OBSERVER, MEMBER = "#1f2933", "#6b7785", "#2f6fde", "#2f9e6e"
FONT = "font-family='system-ui, sans-serif'"

CLUSTER, GROUP = "bwHjK5GfTQijoU_nyFb1ug", "billing"


def callback(
    client: str, sequence: int, which: Callback, generation: int, begin: int, end: int, **waits: float
) -> Event:
    """A member's event; times are milliseconds since the start of the rebalance."""
    return MemberEvent(
        f"{client}{sequence}",
        GROUP,
        end,
        which,
        client,
        client,
        generation,
        begin,
        {},
        client,
        sequence,
        CLUSTER,
        **waits,
    )


EVENTS: tuple[Event, ...] = (
    GenerationEvent(
        event_id="e",
        cluster_id=CLUSTER,
        group=GROUP,
        timestamp_ms=2_760,
        source=Source.RECORDS,
        group_type=GroupType.CLASSIC,
        generation=8,
        previous_generation=7,
        episode_generation=8,
        closes_episode=True,
        followups=0,
        assignor="range",
        protocol=RebalanceProtocol.EAGER,
        phases=Phases(2_760, Evidence.RECORD, 0, Evidence.LIST, 2_600, Evidence.RECORD),
        trigger=Trigger.MEMBER_JOINED,
        causes=(Trigger.MEMBER_JOINED,),
        stall=Stall(2.9, 2.9, 12.0, Basis.EXACT),
        members=(),
        topics={},
        moved=3,
        needed=3,
        revoked=6,
        assigned=6,
        lost=0,
        unassigned=0,
        noop=False,
    ),
    callback("billing-0", 1, Callback.REVOKED, 7, 180, 420),
    callback("billing-0", 2, Callback.ASSIGNED, 8, 2_780, 2_860, join_seconds=2.16, sync_seconds=0.19),
    AssignEvent("a", GROUP, 2_700, "range", "billing-0", 8, 0.07, 2, 6, "billing-0", 3, CLUSTER),
    callback("billing-1", 1, Callback.REVOKED, 7, 240, 2_540),
    callback("billing-1", 2, Callback.ASSIGNED, 8, 2_790, 2_980, join_seconds=0.05, sync_seconds=0.18),
)


def named(span: Span) -> tuple[str, str]:
    """The text beside a span, and its colour: by the process that writes it."""
    client = span.attributes.get("messaging.client.id")
    text = f"{span.name} {client}" if span.name in {"member", "assignor"} else span.name
    return text, MEMBER if client else OBSERVER


def picture() -> str:
    """The whole SVG."""
    traces = EventTraces()
    spans = [span for event in EVENTS for span in traces.spans(event)]
    depth = {span.span_id: (0 if span.parent_id is None else 1) for span in spans}
    last = max(span.end_ms for span in spans)
    height = 2 * MARGIN + ROW * (len(spans) + 1) + 14
    parts = [
        (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' "
            "role='img' aria-label='The spans of one rebalance, by the process that writes them'>"
        ),
        f"<rect width='{WIDTH}' height='{height}' rx='10' fill='#ffffff' stroke='#d5dbe1'/>",
    ]
    for place, span in enumerate(spans):
        level = depth[span.span_id] + (span.parent_id is not None and depth.get(span.parent_id, 0))
        depth[span.span_id] = level
        y = MARGIN + place * ROW
        name, colour = named(span)
        scale = (WIDTH - NAMES - 2 * MARGIN - 60) / last
        x, width = NAMES + span.start_ms * scale, max(2.0, (span.end_ms - span.start_ms) * scale)
        parts += [
            text(MARGIN + 16 * level, y + 16, name, INK),
            f"<rect x='{x:.1f}' y='{y + 4}' width='{width:.1f}' height='{ROW - 8}' rx='3' fill='{colour}'/>",
            text(x + width + 6, y + 16, f"{(span.end_ms - span.start_ms) / 1000:g} s", FAINT),
        ]
    y = MARGIN + len(spans) * ROW + 12
    for x, colour, name in ((NAMES, OBSERVER, "by the observer"), (NAMES + 150, MEMBER, "by sidecars")):
        parts += [
            f"<rect x='{x}' y='{y}' width='14' height='14' rx='3' fill='{colour}'/>",
            text(x + 20, y + 12, name, FAINT),
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, colour: str) -> str:
    """A line of text."""
    return f"<text x='{x:.1f}' y='{y}' font-size='13' {FONT} fill='{colour}'>{escape(words)}</text>"


if __name__ == "__main__":
    IMAGE.write_text(picture(), encoding="utf-8")
