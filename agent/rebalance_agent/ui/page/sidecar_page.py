"""Writes the page of a sidecar, with the consumers that report to it."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.metrics.export.clients_seen import ConsumerStatus
from rebalance_agent.ui.page.page_frame import cells, chips, note, since, unknown
from rebalance_agent.ui.sentences.named_members import partitions_text
from rebalance_agent.ui.words import escaped, moment_to_second, plural, printable, shortened

__all__ = ["CONSUMERS_SHOWN", "OWNED_SHOWN", "beside_content"]

CONSUMERS_SHOWN = 200
"""Maximum number of consumers shown in the table: a pod has a few."""

OWNED_SHOWN = 400
"""Maximum number of characters of the list of a consumer's partitions to show."""

_HEADINGS = ("group", "client id", "generation", "partitions", "skew", "stalled", "no report", "owns")


def beside_content(consumers: Sequence[ConsumerStatus]) -> str:
    """Return the page's HTML; stalled consumers come first, those that have probably ended last and are not counted."""
    ordered = sorted(
        consumers,
        key=lambda each: (each.overdue, each.stalled_ms is None, each.group, each.client_id),
    )
    present = [consumer for consumer in consumers if not consumer.overdue]
    stalled = sum(consumer.stalled_ms is not None for consumer in present)
    head = "<h1>Consumers of this agent</h1>" + chips(
        (
            ("consumers", f"{len(present):,}"),
            ("stalled", f'<span class="{"critical" if stalled else "ok"}">{stalled:,}</span>'),
            ("groups", f"{len({consumer.group for consumer in present}):,}"),
            ("partitions", f"{sum(consumer.partitions for consumer in present):,}"),
        )
    )
    if not consumers:
        return head + note(
            "No consumer is in a group. An instrumented consumer appears here with its first assignment."
        )
    rows = list(map(_row, ordered[:CONSUMERS_SHOWN]))
    beyond = len(ordered) - CONSUMERS_SHOWN
    more = note(f"{plural(beyond, 'more consumer')} not shown.") if beyond > 0 else ""
    hint = note("This agent shows only its own consumers. An observer's page shows whole groups and their history.")
    table = cells(_HEADINGS, rows, "Consumers of this agent")
    return f'{head}<section class="beside">{table}</section>{more}{hint}'


def _row(consumer: ConsumerStatus) -> list[str]:
    return [
        escaped(shortened(printable(consumer.group))),
        escaped(shortened(printable(consumer.client_id))),
        unknown() if consumer.generation < 0 else f"{consumer.generation:,}",
        f"{consumer.partitions:,}",
        unknown() if consumer.skew is None else f"{consumer.skew:.2f}",
        "no" if consumer.stalled_ms is None else since(consumer.stalled_ms, "critical"),
        _silence(consumer),
        escaped(shortened(partitions_text(consumer.owned), OWNED_SHOWN)) or "nothing",
    ]


def _silence(consumer: ConsumerStatus) -> str:
    if not consumer.overdue:
        return since(consumer.seen_ms)
    last = escaped(moment_to_second(consumer.seen_ms))
    return f'<span class="warning">no report since {last}: the process has probably ended</span>'
