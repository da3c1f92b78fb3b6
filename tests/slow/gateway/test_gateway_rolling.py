"""Groups that change under load: rolled behind gateways and back, static members, a killed coordinator."""

from __future__ import annotations

import contextlib
import uuid

import pytest

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.model.events import Callback
from rebalance_agent.testing import EmbeddedKafka
from support.gateway.agreed import disagreements
from support.gateway.gateway_members import (
    LONG_S,
    AiokafkaMember,
    KafkaPythonMember,
    described,
    joining,
    read_by,
    read_everything,
    shares,
    weighted,
)
from support.gateway.gatewaying import gatewaying
from support.members.member_lines import LibrdkafkaMember, java_member
from support.members.threads import Load
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 16
MEMBERS = 3
EAGER, COOPERATIVE = ("range", "weighted-sticky"), ("cooperative-sticky", "cooperative-weighted-sticky")


@pytest.fixture(scope="module")
def three():
    properties = {"min.insync.replicas": "2", "offsets.topic.replication.factor": "3"}
    with EmbeddedKafka(brokers=3, properties=properties) as kafka:
        yield kafka


@pytest.fixture
def topic(three):
    name = f"rolling-{uuid.uuid4().hex[:8]}"
    create_topic(three.bootstrap_servers, name, PARTITIONS, 3)
    return name


@pytest.fixture
def joined():
    with joining() as join:
        yield join


@pytest.mark.parametrize(
    ("kind", "own", "strategy"),
    [
        (LibrdkafkaMember, *EAGER),
        (LibrdkafkaMember, *COOPERATIVE),
        (KafkaPythonMember, *EAGER),
        (KafkaPythonMember, *COOPERATIVE),
        (AiokafkaMember, *EAGER),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_group_is_rolled_behind_gateways_and_back_without_lost_or_doubly_read_records(
    three, topic, joined, kind, own, strategy
):
    group = f"group-of-{topic}"
    everybody = []

    def join(through, name):
        everybody.append(joined(kind, through, group, topic, name, own))
        return everybody[-1]

    def whole(members):
        return lambda: sum(shares(*members)) == PARTITIONS and all(shares(*members))

    with weighted(three, group, strategy, 100) as behind, Load(three, topic, PARTITIONS) as load:
        now = [join(three.bootstrap_servers, f"plain-{number}") for number in range(MEMBERS)]
        eventually(whole(now), LONG_S)
        for through, runs_by in ((behind.bootstrap, strategy), (three.bootstrap_servers, own)):
            for number in range(MEMBERS):
                now.append(join(through, f"{runs_by}-{number}"))
                eventually(whole(now), LONG_S, waiting_for=behind.outcomes)
                now.pop(0).close()
                eventually(whole(now), LONG_S, waiting_for=behind.outcomes)
            assert described(three, group).partition_assignor == runs_by
            if runs_by == strategy:
                assert sorted(shares(*now)) == [5, 5, 6]
        read_everything(load, *everybody)
        for each in now:
            each.close()
    assert {FrameOutcome.OFFERED, FrameOutcome.CHOSEN, FrameOutcome.NOT_CHOSEN} <= set(behind.outcomes)
    assert set(behind.outcomes) <= {
        FrameOutcome.OFFERED,
        FrameOutcome.CHOSEN,
        FrameOutcome.NOT_CHOSEN,
        FrameOutcome.ASSIGNED,
    }


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (LibrdkafkaMember, "cooperative-sticky"),
        (KafkaPythonMember, "cooperative-sticky"),
        (java_member, "CooperativeStickyAssignor"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_cooperative_members_revoke_only_partitions_that_others_get(three, topic, joined, kind, own):
    group, strategy = f"group-of-{topic}", "cooperative-weighted-sticky"
    with (
        weighted(three, group, strategy, 300) as heavy,
        weighted(three, group, strategy, 100) as light,
        Load(three, topic, PARTITIONS) as load,
    ):
        one = joined(kind, heavy.bootstrap, group, topic, "one", own)
        other = joined(kind, light.bootstrap, group, topic, "other", own)
        eventually(lambda: shares(one, other) == [12, 4], LONG_S, waiting_for=(heavy.outcomes, light.outcomes))
        had, since = {each: each.owned for each in (one, other)}, {each: len(each.changes) for each in (one, other)}
        third = joined(kind, light.bootstrap, group, topic, "third", own)
        whole = [3, 3, 10]
        eventually(
            lambda: sorted(shares(one, other, third)) == whole, LONG_S, waiting_for=(heavy.outcomes, light.outcomes)
        )
        for each in (one, other):
            gone = [taken for _, assigned, taken, _ in each.changes[since[each] :] if not assigned and taken]
            assert frozenset().union(*gone) == had[each] - each.owned
            assert len(gone) <= 1, "it revokes once, in one follow-up"
        read_everything(load, one, other, third)
        for each in (one, other, third):
            each.close()


@pytest.mark.parametrize("kind", [LibrdkafkaMember, KafkaPythonMember, AiokafkaMember, java_member])
def test_a_static_member_that_restarts_within_its_session_keeps_its_partitions_without_a_rebalance(
    three, topic, joined, kind
):
    group = f"group-of-{topic}"
    assignor = "RangeAssignor" if kind is java_member else "range"
    with (
        weighted(three, group, "weighted-sticky", 300) as heavy,
        weighted(three, group, "weighted-sticky", 100) as light,
        Load(three, topic, PARTITIONS) as load,
    ):
        other = joined(LibrdkafkaMember, light.bootstrap, group, topic, "other")

        def start():
            return joined(kind, heavy.bootstrap, group, topic, "static", assignor, **{"group.instance.id": "static-1"})

        def generation():
            reported = heavy.reported(Callback.ASSIGNED, client_id="static", instance_id="static-1")
            return reported[-1].generation if reported else None

        first = start()
        eventually(lambda: shares(first, other) == [12, 4] and generation(), LONG_S, waiting_for=heavy.outcomes)
        had, when, changes = first.owned, generation(), len(other.changes)
        reported = len(heavy.reported(Callback.ASSIGNED))
        eventually(lambda: read_by(first), LONG_S)
        first.close()
        again = start()
        eventually(lambda: again.owned == had and len(heavy.reported(Callback.ASSIGNED)) > reported, LONG_S)
        before = len(again.read)
        eventually(lambda: len(again.read) > before + 100, LONG_S)
        assert (generation(), len(other.changes)) == (when, changes), "the group did not rebalance"
        third = joined(LibrdkafkaMember, light.bootstrap, group, topic, "third")
        eventually(lambda: sorted(shares(again, other, third)) == [3, 3, 10], LONG_S, waiting_for=heavy.outcomes)
        assert len(again.owned & had) == 10, "a sticky strategy keeps its partitions"
        read_everything(load, first, again, other, third)
        for each in (third, other, again):
            each.close()
    assert set(heavy.outcomes + light.outcomes) == {FrameOutcome.OFFERED, FrameOutcome.CHOSEN, FrameOutcome.ASSIGNED}


def test_observer_and_gateway_agree_when_static_members_restart_and_the_coordinator_is_killed(three, topic, joined):
    group, published = f"group-of-{topic}", f"events-of-{topic}"
    create_topic(three.bootstrap_servers, published, 1, 3)
    rules = {"gateway_groups": f"{group}=weighted-sticky", "events_topic": published}
    with (
        observing(three.bootstrap_servers, events_topic=published, settle_seconds=3),
        gatewaying(three.bootstrap_servers, **rules) as through,
        Load(three, topic, PARTITIONS) as load,
        contextlib.ExitStack() as stack,
    ):
        eventually(through.ready)

        def start(name, **properties):
            return joined(LibrdkafkaMember, through.bootstrap, group, topic, name, **properties)

        members = [start("a")]
        eventually(lambda: shares(*members) == [16], LONG_S)
        members.append(start("b", **{"group.instance.id": "b-1"}))
        eventually(lambda: shares(*members) == [8, 8], LONG_S)
        members[1].close()
        members.append(start("b", **{"group.instance.id": "b-1"}))
        eventually(lambda: shares(*members) == [8, 0, 8], LONG_S)  # a response lost with the broker is invisible
        killed = described(three, group).coordinator.id
        three.kill_broker(killed)
        stack.callback(three.start_broker, killed)
        eventually(lambda: (now := described(three, group)) and now.coordinator.id != killed, LONG_S)
        members.append(start("c"))
        eventually(lambda: sorted(shares(*members[::2], members[3])) == [5, 5, 6], LONG_S)
        members[3].close()
        eventually(lambda: shares(*members[::2]) == [8, 8], LONG_S)

        last = {}

        def agreed():
            reported = events(three.bootstrap_servers, published, group=group)
            closing = [each for each in reported if each["kind"] == "generation" and each["closes_episode"]]
            last["differ"] = disagreements(reported)
            return bool(closing) and closing[-1]["trigger"] == "member_left" and not last["differ"] and reported

        reported = eventually(agreed, LONG_S, waiting_for=last)
        read_everything(load, *members)
        for each in members:
            each.close()
    assert len({each["generation"] for each in reported if each["kind"] == "generation"}) >= 4
