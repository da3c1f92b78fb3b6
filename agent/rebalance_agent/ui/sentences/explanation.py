"""Explains the last rebalances of one group in sentences. Pure and deterministic."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.history import EpisodeHistory, HistoryLimits
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind, RebalanceList
from rebalance_agent.model.episode import Basis, Evidence, Stall
from rebalance_agent.model.events import Callback, Event
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import to_ranges
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.ui.sentences.explained.bound_reason import bound_reason
from rebalance_agent.ui.sentences.explained.causes import rollout_text, why
from rebalance_agent.ui.sentences.explained.client_text import client_sentences
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.sentences.explained.observed_rebalances import observed_rebalances
from rebalance_agent.ui.sentences.group_detail import SLOW_SECONDS_MIN
from rebalance_agent.ui.sentences.named_members import moves
from rebalance_agent.ui.words import (
    bounds_text,
    duration,
    in_words,
    listed,
    moment,
    partition_seconds,
    partition_seconds_text,
    plural,
    printable,
    span,
    unowned,
    wrapped,
)

__all__ = [
    "LAST_MAX",
    "Explanation",
    "Paragraph",
    "explanation_of",
    "last_rebalances",
    "paragraphs",
    "whole_rebalances",
]

LAST_MAX = 50
"""Maximum number of rebalances in one text: as many as an agent keeps of a group."""

REPORTS_MAX = 20_000
"""Maximum number of members' reports kept while a file of events is searched for its last rebalances."""

MOVES_LISTED_MAX = 6
"""Maximum number of moves (topic, giver, taker) that are listed; the partitions of further moves are only counted."""


def paragraphs(details: Sequence[RebalanceDetail], rollouts: Sequence[Event], last: int, advice: str = "") -> list[str]:
    """Return one text per rebalance, oldest first, then one per rollout, then the ``advice``, if any.

    ``details``: newest first, one rebalance more than ``last``, for the state before the oldest explained rebalance.
    """
    explanation = explanation_of(details, rollouts, last, advice)
    texts = [_wrapped(rebalance.heading, rebalance.text) for rebalance in explanation.rebalances]
    texts += [_wrapped("", rollout) for rollout in explanation.rollouts]
    return texts + ([_wrapped("", f"Advice: {explanation.advice}")] if explanation.advice else [])


class Paragraph(NamedTuple):
    """One rebalance: a heading (time, generation, assignor) and sentences, the cause first."""

    heading: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, joined with spaces."""
        return " ".join(self.sentences)


class Explanation(NamedTuple):
    """Rebalances and rollouts, oldest first, and the advice of `advice.advise`, which may be empty."""

    rebalances: tuple[Paragraph, ...]
    rollouts: tuple[str, ...]
    advice: str


def explanation_of(
    details: Sequence[RebalanceDetail], rollouts: Sequence[Event], last: int, advice: str = ""
) -> Explanation:
    """Explain the ``last`` rebalances in ``details`` (newest first), and the rollouts since the first of them."""
    shown = observed_rebalances(details, last)
    since = min((rebalance.closing.timestamp_ms for rebalance in shown), default=0)
    deploys = [event for event in rollouts if isinstance(event, RolloutEvent) and event.timestamp_ms >= since]
    return Explanation(
        tuple(Paragraph(_heading(rebalance), tuple(_sentences(rebalance))) for rebalance in shown),
        tuple(map(rollout_text, reversed(deploys))),
        printable(advice),
    )


def last_rebalances(groups: GroupSource, remembered: RebalanceList, last: int) -> list[RebalanceDetail]:
    """Return rebalances in ``remembered`` with events, newest first, until one more than ``last`` is completed.

    The additional rebalance provides the state before the oldest. Rebalances that ``groups`` no longer has are left
    out.
    """
    details: list[RebalanceDetail] = []
    for line in remembered.rebalances:
        if sum(detail.rebalance.kind is RebalanceKind.COMPLETED for detail in details) > last:
            break
        if line.kind is RebalanceKind.ABORTED:
            details.append(RebalanceDetail(remembered.group, line, (), ()))
            continue
        with contextlib.suppress(NotKnownError):
            details.append(groups.rebalance(remembered.group, line.id))
    return details


def whole_rebalances(events: Iterable[Event], last: int) -> tuple[list[RebalanceDetail], list[Event]]:
    """Return a group's last rebalances (``last`` plus one, newest first) and its rollouts, from its ``events``."""
    history = EpisodeHistory(HistoryLimits(rebalances=2 * last + 2, reports=REPORTS_MAX))
    group = None
    for event in events:
        group = event.group
        history.on_event(event)
    remembered = history.rebalances(group) if group is not None else None
    if remembered is None or group is None:
        return [], []
    details = [history.rebalance(group, rebalance.id) for rebalance in remembered.rebalances]
    return [detail for detail in details if detail], list(remembered.rollouts)


def _heading(rebalance: ObservedRebalance) -> str:
    closing = rebalance.closing
    assignor = printable(closing.assignor) if closing.assignor else ""
    kind = ", ".join(part for part in (assignor, closing.protocol) if part and part != RebalanceProtocol.UNKNOWN)
    numbers = list(dict.fromkeys(event.generation for event in rebalance.generations))
    noun = "generation" if closing.group_type is GroupType.CLASSIC else "group epoch"
    generations = f"{noun} {numbers[0]}" if len(numbers) == 1 else f"{noun}s {numbers[0]} to {numbers[-1]}"
    return f"{moment(closing.timestamp_ms)}, {generations}" + (f" ({kind})" if kind else "")


def _sentences(rebalance: ObservedRebalance) -> Iterator[str]:
    yield why(rebalance)
    if migrated := next((event.migrated_from for event in rebalance.generations if event.migrated_from), None):
        yield f"The group migrated from the {migrated} to the {rebalance.closing.group_type} protocol."
    yield from _course(rebalance)
    yield from _slow(rebalance)
    yield from client_sentences(rebalance)
    yield from _cost(rebalance)
    yield from _moved(rebalance)
    closing = rebalance.closing
    if closing.flapping:
        verb = "keeps" if len(closing.flapping) == 1 else "keep"
        yield f"{listed([printable(name) for name in closing.flapping])} {verb} leaving and rejoining."
    if closing.unassigned and closing.members:
        yield f"{unowned(closing.unassigned)}."
    if not closing.members:
        yield "The group is Empty now: it has no active consumers."


def _course(rebalance: ObservedRebalance) -> Iterator[str]:
    """Yield the course of the rebalance: aborted generations, follow-ups, phases."""
    if rebalance.aborted:
        numbers = listed([str(number) for number in rebalance.aborted])
        was = "generation {} was" if len(rebalance.aborted) == 1 else "generations {} were"
        yield f"Before this rebalance, {was.format(numbers)} aborted."
    first, closing = rebalance.generations[0], rebalance.closing
    if not closing.members:
        return
    if closing.generation == closing.previous_generation:
        yield "No other member had to rejoin."
        return
    if closing.followups and closing.group_type is GroupType.CLASSIC:
        yield (
            f"The rebalance took {closing.followups + 1} generations: partitions were revoked in one, and assigned to "
            "their new owners in a follow-up."
        )
    if first.phases.started_ms is not None:
        took = max(0, closing.timestamp_ms - first.phases.started_ms) / 1000
        waited = ""
        if (first.join_seconds or 0) >= took / 2:
            waited = f", {_part(first.join_seconds, took)} of it waiting for every member to rejoin"
        elif (first.sync_seconds or 0) >= took / 2:
            leader = rebalance.by_id.get(first.leader_member_id or "")
            named = f", {rebalance.name(leader)}," if leader else ""
            waited = f", {_part(first.sync_seconds, took)} of it waiting for the leader{named} to assign"
        elif (closing.assignor_wait_seconds or 0) >= took / 2:
            waited = f", {_part(closing.assignor_wait_seconds, took)} of it waiting for the coordinator to assign"
        elif (reached := closing.reconcile_seconds) is not None:
            # Each further change of the group leads to another target assignment.
            targeted = duration(max(0, took - reached))
            waited = (
                f": {targeted} until the last target assignment, then {duration(reached)} until all members reached it"
            )
        # A member that sends no reports may have been asked to rejoin before the first reported revocation.
        reported = first.phases.started_evidence in (Evidence.MEMBERS, Evidence.GATEWAY)
        took_text = f"at least {duration(took)}" if reported else duration(took)
        yield f"The rebalance took {took_text} with {plural(len(closing.members), 'member')}{waited}."
    else:
        yield f"The rebalance's start is unknown; it ended with {plural(len(closing.members), 'member')}."


def _part(seconds: float | None, of: float) -> str:
    text = duration(seconds or 0)
    return "nearly all" if text == duration(of) else text


def _slow(rebalance: ObservedRebalance) -> Iterator[str]:
    closing = rebalance.closing
    member = rebalance.by_id.get(closing.slowest_member_id or "")
    if member is None or (closing.slowest_seconds or 0) < SLOW_SECONDS_MIN:
        return
    callbacks = rebalance.reports_of(member.member_id, [Callback.REVOKED, Callback.LOST])
    ran = callbacks[0].ran_seconds if callbacks else None
    # A removed member's callback may end long after the wait for this member.
    of_that = " of that" if (ran or 0) <= (closing.slowest_seconds or 0) else ""
    part = f"; its {callbacks[0].callback} callback took {duration(ran)}{of_that}" if ran is not None else ""
    name, waited = rebalance.name(member), in_words(span(closing.slowest_lower_seconds, closing.slowest_seconds or 0))
    if all(member.member_id != other.member_id for other in closing.members):
        yield f"{name} was removed, after the others had waited {waited} for it{part}."
    elif closing.group_type is not GroupType.CLASSIC:
        yield f"{name} took longest to give up its revoked partitions: {waited}{part}."
    elif rebalance.waited_longer:
        yield (
            f"{name} was the last of the reporting members to return from its revoked callback, {waited} after the "
            "start; no report shows what the group waited for after that."
        )
    else:
        yield f"{name} was the last member to be ready, {waited} after the start{part}."


def _cost(rebalance: ObservedRebalance) -> Iterator[str]:
    stall = rebalance.closing.stall
    if stall is None:
        if rebalance.closing.members:
            yield "The stall is unknown."
        return
    if stall.seconds is None and duration(stall.lower_seconds) == duration(0):
        yield "The stall is unknown: nothing shows when it ended."
        return
    if stall.seconds == 0:
        yield "No partition was stalled."
        return
    longest = _span(stall, rebalance)
    yield f"The longest stall of a partition was {longest}; in total {_total(stall)} stalled partition-seconds."
    again = sum(report.reprocessed_records or 0 for report in rebalance.reports)
    if again:
        yield f"{plural(again, 'record')} had to be consumed again."


def _span(stall: Stall, rebalance: ObservedRebalance) -> str:
    lower = duration(stall.lower_seconds)
    if stall.basis is Basis.EXACT:
        return f"{lower} (measured by the members)"
    if stall.seconds is None:
        return f"at least {lower} (nothing shows when it ended)"
    span = bounds_text(stall.lower_seconds, stall.seconds)
    return f"{in_words(span)} (bounds from {rebalance.bounds_from}, because {bound_reason(rebalance)})"


def _total(stall: Stall) -> str:
    if stall.upper_partition_seconds is None:
        return f"at least {partition_seconds(stall.partition_seconds)}"
    return in_words(partition_seconds_text(stall))


def _moved(rebalance: ObservedRebalance) -> Iterator[str]:
    closing = rebalance.closing
    if closing.noop:
        yield "No partition changed its owner."
        return
    if not closing.moved:
        return
    if rebalance.before is None:
        yield f"{plural(closing.moved, 'partition')} moved."
    else:
        moved = [move for move in moves(rebalance.before.members, closing.members) if move.giver and move.taker]
        texts = [
            f"{printable(move.topic)} {to_ranges(move.partitions)} from {rebalance.names[move.giver or '']} "
            f"to {rebalance.names[move.taker or '']}"
            for move in moved[:MOVES_LISTED_MAX]
        ]
        more = sum(len(move.partitions) for move in moved[MOVES_LISTED_MAX:])
        yield f"{plural(closing.moved, 'partition')} moved: {'; '.join(texts)}" + (
            f"; and {more} more." if more else "."
        )
    if closing.needed is not None and closing.moved > closing.needed:
        yield f"{plural(closing.needed, 'move')} would have been enough to get the same balance."


def _wrapped(heading: str, text: str) -> str:
    return f"{heading}\n{wrapped(text, '  ')}" if heading else wrapped(text)
