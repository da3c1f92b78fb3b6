"""Newcomers, groups and their responses for tests of seats."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.gateway.seats.gateway_seats import new_seat_names
from rebalance_agent.gateway.seats.group_facts import GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.join_profile import read_profile
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.seat_acts import ClaimLock, ForwardSeated
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.subscription import ConsumerSubscription

DEAR = LeaveForecast(kept=10.0, rebalance=1.0)
CHEAP = LeaveForecast(kept=1.0, rebalance=10.0)
STABLE = SeatsRoster(phase=GroupPhase.STABLE, members=3, seated=3)
EMPTY = SeatsRoster(phase=GroupPhase.EMPTY, members=0, seated=0)


def metadata(topics=("t",), **fields):
    return encode_subscription(ConsumerSubscription(3, tuple(topics), **fields))


def profile(*, names=("range",), session_ms=45_000, rebalance_ms=60_000, protocol_type="consumer", **fields):
    offers = [(name, metadata(**fields)) for name in names]
    return read_profile(protocol_type, offers, session_ms, rebalance_ms)


def newcomer(join, *, patience_seconds=300.0, version=9, process=None, of=None, **changes):
    one = Newcomer(
        join=join, version=version, profile=of or profile(), patience_seconds=patience_seconds, process=process
    )
    return replace(one, **changes)


def seats(**settings):
    return GroupSeats(SeatSettings(**settings), new_seat_names("test"))


def only(acts, kind):
    return [act for act in acts if isinstance(act, kind)]


def seated(group, join=1, *, member="m1", generation=5, leads=False, now=0.0, process=None, version=9, of=None):
    """A consumer that got a new seat in an empty group, which is stable afterwards; returns its instance id."""
    group.described(EMPTY, now)
    acts = group.join(newcomer(join, process=process, version=version, of=of), now, now)
    (claim,) = only(acts, ClaimLock)
    (sent,) = only(group.lock_answered(claim.instance_id, granted=True, now=now), ForwardSeated)
    group.join_answered(sent.join, 0, member, generation, leads=leads, now=now)
    group.sync_answered(member, 0, now)
    return sent.instance_id
