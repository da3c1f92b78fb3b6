"""A sidecar's page: the consumers beside it, from what they say of themselves."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.metrics.export.clients_seen import ConsumerStatus
from rebalance_agent.ui.page.page_frame import cells, chips, note, unknown
from rebalance_agent.ui.sentences.members import partitions_text
from rebalance_agent.ui.words import escaped, moment_to_second, plural, printable, shortened

__all__ = ["CONSUMERS_SHOWN", "OWNED_SHOWN", "beside_content"]

CONSUMERS_SHOWN = 200
"""Consumers of the table: a pod has a few."""

OWNED_SHOWN = 400
"""Characters of the list of what one owns."""

_HEADINGS = ("group", "client id", "generation", "partitions", "skew", "stands still", "owns")


def beside_content(consumers: Sequence[ConsumerStatus]) -> str:
    """The page's content, those that stand still first."""
    ordered = sorted(consumers, key=lambda each: (each.stalled_ms is None, each.group, each.client_id))
    still = sum(each.stalled_ms is not None for each in consumers)
    head = "<h1>Consumers beside this sidecar</h1>" + chips(
        (
            ("consumers", f"{len(consumers):,}"),
            ("stand still", f'<span class="{"hurts" if still else "well"}">{still:,}</span>'),
            ("groups", f"{len({each.group for each in consumers}):,}"),
            ("partitions", f"{sum(each.partitions for each in consumers):,}"),
        )
    )
    if not consumers:
        return head + note("None has said anything yet. An instrumented consumer does when it is first assigned.")
    rows = [_row(each) for each in ordered[:CONSUMERS_SHOWN]]
    beyond = len(ordered) - CONSUMERS_SHOWN
    more = note(f"{plural(beyond, 'more consumer')} are left out.") if beyond > 0 else ""
    whole = note("A sidecar knows its own consumers only; whole groups and their history are an observer's page.")
    table = cells(_HEADINGS, rows, "Consumers beside this sidecar")
    return f'{head}<section class="beside">{table}</section>{more}{whole}'


def _row(each: ConsumerStatus) -> list[str]:
    return [
        escaped(shortened(printable(each.group))),
        escaped(shortened(printable(each.client_id))),
        unknown() if each.generation < 0 else f"{each.generation:,}",
        f"{each.partitions:,}",
        unknown() if each.skew is None else f"{each.skew:.2f}",
        "no" if each.stalled_ms is None else _since(each.stalled_ms),
        escaped(shortened(partitions_text(each.owned), OWNED_SHOWN)) or "nothing",
    ]


def _since(at_ms: int) -> str:
    """The script says for how long."""
    return f'<span class="hurts" data-since="{at_ms}">since {escaped(moment_to_second(at_ms))}</span>'
