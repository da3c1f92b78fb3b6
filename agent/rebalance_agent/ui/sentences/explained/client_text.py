"""Describes what the clients of a rebalance's members measured themselves (KIP-714). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.words import duration, plural

__all__ = ["CLIENTS_MAX", "client_sentences"]

CLIENTS_MAX = 3
"""Maximum number of members whose clients' values are listed for one rebalance."""


def client_sentences(rebalance: ObservedRebalance) -> Iterator[str]:
    """Yield a sentence for each member concerned whose client pushed values around the rebalance.

    This is for the slowest member and the departed members; if there are more than `CLIENTS_MAX`, the first by name.
    """
    slowest = rebalance.by_id.get(rebalance.closing.slowest_member_id or "")
    members = {identity(member): member for member in (*rebalance.gone, *([slowest] if slowest else []))}
    texts = ((rebalance.name(member), _values(rebalance, member)) for member in members.values())
    for name, values in sorted((name, values) for name, values in texts if values)[:CLIENTS_MAX]:
        yield f"The client of {name} measured, up to its last push to the gateway: {', '.join(values)}."


def _values(rebalance: ObservedRebalance, member: MemberSnapshot) -> list[str]:
    pushed = rebalance.client_metrics(member.member_id) or ClientMetrics()
    limit = f" (limit {duration(member.rebalance_timeout_ms / 1000)})" if member.rebalance_timeout_ms else ""
    # Clients push 0 if they measured no time and no failure. Only a ratio of 0 is a measurement.
    values: tuple[tuple[float | None, Callable[[float], str]], ...] = (
        (
            pushed.poll_interval_seconds or None,
            lambda seconds: f"longest time between polls {duration(seconds)}{limit}",
        ),
        (pushed.last_poll_seconds or None, lambda seconds: f"{duration(seconds)} since its last poll"),
        (pushed.idle_ratio, lambda ratio: f"{ratio:.0%} of the time in poll()"),
        (pushed.commit_seconds or None, lambda seconds: f"longest commit {duration(seconds)}"),
        (pushed.rebalance_seconds or None, lambda seconds: f"longest rebalance {duration(seconds)}"),
        (pushed.failed_rebalances or None, lambda number: plural(round(number), "failed rebalance")),
    )
    return [text(value) for value, text in values if value is not None]
