"""Locks of seats as Lease objects of Kubernetes: what each beat changes, and seats of two gateways that use them."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.explain_rules import explain
from rebalance_agent.gateway.group_rules import parse_rules
from rebalance_agent.gateway.seat_rules import Between, parse_seat_rules
from rebalance_agent.gateway.seating.leases.api_server import ApiServer
from rebalance_agent.gateway.seating.leases.lease_requests import REMOVED_MAX, LeaseRequests
from rebalance_agent.gateway.seats.locks import LockBeat
from rebalance_agent.gateway.seats.locks.leases import LEASE_SECONDS
from rebalance_agent.gateway.seats.locks.lock_acts import CLAIM, RELEASE, LockLoss
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder
from support.gateway.seat_clients import SeatClient, SeatGateway
from support.seats.frame_steps import ended, one_enters, run, succeeded_elsewhere
from support.seats.lease_store import LeaseStore

RULE = "orders=on,seats.between.gateways=lease"
KEPT = f"{RULE},seats.keep.seconds=60"
TAKEN, UNKNOWN, FENCED, FORBIDDEN, UNSUPPORTED = 111, 25, 82, 30, 35


class Locks:
    """The requests of two gateways for the locks of a group in one namespace."""

    def __init__(self):
        self.clock, self.store = FakeClock(), LeaseStore()
        self.one, self.other = (LeaseRequests("orders", self.store, self.clock) for _ in range(2))

    def beat(self, of, member_id, epoch, note=None, seat="seat-1"):
        answer = asyncio.run(of.beat(None, LockBeat(seat, member_id, epoch, self.clock.monotonic(), note)))
        return answer.error

    def described(self, of):
        return asyncio.run(of.describe(None))


def test_one_gateway_at_a_time_has_a_lock_and_its_release_frees_it_at_once():
    locks = Locks()
    assert locks.beat(locks.one, "a", CLAIM, "note a") == 0
    assert locks.beat(locks.other, "b", CLAIM, "note b") == TAKEN
    assert locks.described(locks.other) == (LockHolder("seat-1", "a", False, "note a"),)
    assert locks.beat(locks.one, "a", 1) == 0
    assert locks.beat(locks.other, "b", RELEASE) == FENCED, "the holder keeps it"
    assert locks.beat(locks.one, "a", RELEASE) == 0
    assert locks.described(locks.other) == (LockHolder("seat-1", "a", True, "note a"),)
    assert locks.beat(locks.other, "b", CLAIM) == 0
    assert locks.described(locks.one) == (LockHolder("seat-1", "b", False, None),), "the note is the holder's"
    assert locks.beat(locks.one, "a", 1) == UNKNOWN
    assert locks.beat(locks.one, "a", 1, seat="seat-2") == UNKNOWN


def test_a_claim_whose_answer_was_lost_can_be_repeated():
    locks = Locks()
    assert [locks.beat(locks.one, "a", CLAIM) for _ in range(2)] == [0, 0]


def test_a_lock_that_does_not_change_expires_by_the_clock_of_the_one_that_asks():
    locks = Locks()
    locks.beat(locks.one, "a", CLAIM)
    assert len(locks.described(locks.other)) == 1
    locks.clock.advance(1_000 * (LEASE_SECONDS - 1))
    assert locks.beat(locks.other, "b", CLAIM) == TAKEN
    locks.beat(locks.one, "a", 1)
    locks.clock.advance(1_000)
    assert locks.beat(locks.other, "b", CLAIM) == TAKEN, "it was renewed"
    locks.clock.advance(1_000 * LEASE_SECONDS)
    assert locks.beat(locks.other, "b", CLAIM) == 0
    assert locks.beat(locks.one, "a", 1) == UNKNOWN


def test_expired_locks_are_not_described_and_removed():
    locks = Locks()
    for number in range(REMOVED_MAX + 2):
        locks.beat(locks.one, "a", CLAIM, seat=f"seat-{number}")
    assert len(locks.described(locks.other)) == REMOVED_MAX + 2
    locks.clock.advance(1_000 * LEASE_SECONDS)
    assert locks.described(locks.other) == ()
    assert len(locks.store.leases) == 2
    locks.described(locks.other)
    assert locks.store.leases == {}


def test_of_two_claims_at_the_same_time_one_is_granted():
    locks = Locks()

    def faster():
        locks.store.before = lambda: None
        assert locks.other._beat(locks.store, LockBeat("seat-1", "b", CLAIM, 0.0)).error == 0

    locks.store.before = faster
    assert locks.beat(locks.one, "a", CLAIM) == TAKEN


def test_groups_and_other_programs_leases_do_not_mix():
    locks = Locks()
    locks.beat(LeaseRequests("payments", locks.store, locks.clock), "a", CLAIM)
    assert locks.described(locks.one) == ()
    locks.beat(locks.one, "a", CLAIM)
    for lease in locks.store.leases.values():
        lease["metadata"]["annotations"] = None
    assert locks.described(locks.one) == ()


@pytest.mark.parametrize(("status", "error"), [(401, FORBIDDEN), (403, FORBIDDEN), (400, UNSUPPORTED)])
def test_refusals_are_losses_of_all_locks(status, error):
    locks = Locks()
    locks.store.status = status
    assert locks.beat(locks.one, "a", CLAIM) == error
    assert locks.described(locks.one) is None


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_an_api_server_that_is_busy_counts_as_one_without_an_answer(status):
    locks = Locks()
    locks.store.status = status
    with pytest.raises(ConnectionError):
        locks.beat(locks.one, "a", CLAIM)


# -- two gateways ----------------------------------------------------------------------------------------------


def gateways(rule=RULE, store=None):
    options = {"leases": store}
    first = SeatGateway(rule, **options)
    return first, SeatGateway(rule, beside=first, **options)


@run
async def test_a_newcomer_takes_the_seat_of_a_member_that_leaves_behind_another_gateway():
    store = LeaseStore()
    first, second = gateways(store=store)
    old, new = await SeatClient(first, "old").enter(), SeatClient(second, "new")
    await second.advance(5)
    joining = await succeeded_elsewhere(old, second, new)
    await second.advance(1)
    assert (await joining).generation == old.generation
    assert second.acts.done("handover") == second.acts.done("claim") == first.acts.done("keep") == 1
    await second.advance(3)
    assert (first.acts.vacant, first.acts.done("give_up")) == (0, 0)
    assert second.coordinator.lock_frames == [], "the cluster has no helper group"
    assert not [one for one in store.leases.values() if one["spec"].get("holderIdentity")], "all are released"


@run
async def test_one_of_two_newcomers_of_two_gateways_takes_a_kept_seat():
    store = LeaseStore()
    first, second = gateways(KEPT, store)
    third = SeatGateway(KEPT, beside=first, leases=store)
    old = await SeatClient(first, "old").enter()
    await second.advance(5)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    await one_enters(SeatClient(second, "new"), SeatClient(third, "new"))


@run
@pytest.mark.parametrize("status", [None, 403])
async def test_without_kubernetes_or_a_role_each_gateway_works_alone(status):
    store = LeaseStore()
    store.status = status
    first, second = gateways(KEPT, store if status else None)
    old = await SeatClient(first, "old").enter()
    await second.advance(5)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    new = await SeatClient(first, "new").enter()
    assert new.generation == old.generation
    assert first.acts.counted["claim", "failed"] == 1


def test_the_rule_is_parsed_written_and_explained():
    rules = parse_seat_rules(RULE)
    rule = rules.of("orders")
    assert (rule.between, rule.between_gateways, str(rule)) == (Between.LEASE, True, RULE)
    text = " ".join(explain(parse_rules(""), "orders", None, seats=rules).split())
    assert "on leases of coordination.k8s.io" in text
    assert "helper group" not in text
    with pytest.raises(InvalidInputError, match="true, false or lease"):
        parse_seat_rules("orders=on,seats.between.gateways=leases")


def test_problems_name_the_verbs_that_are_missing(tmp_path):
    assert "list, create, update and delete on leases" in LeaseRequests("orders", None, FakeClock()).problem(
        LockLoss.FORBIDDEN, FORBIDDEN
    )
    with pytest.raises(InvalidInputError, match="not a pod of Kubernetes"):
        ApiServer.of_pod({})
    with pytest.raises(InvalidInputError, match="service account cannot be used"):
        ApiServer("127.0.0.1", 1, tmp_path)
