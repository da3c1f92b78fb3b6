"""Seats in groups of unmodified consumers behind one gateway, before a real broker."""

from __future__ import annotations

import itertools
import json

import pytest

from support.gateway.gateway_members import AiokafkaMember, KafkaPythonMember, read_everything
from support.gateway.gatewaying import gatewaying
from support.gateway.running import gateway
from support.gateway.seat_groups import (
    MEMBERS,
    PARTITIONS,
    Group,
    check_killed,
    check_restarts,
    check_scale_up,
    check_successor_of_killed,
    check_surge,
    roll_with_surge,
)
from support.members.member_lines import LibrdkafkaMember, librdkafka_member
from support.members.threads import Load
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

CLIENTS = [
    (LibrdkafkaMember, "range"),
    (LibrdkafkaMember, "cooperative-sticky"),
    (KafkaPythonMember, "range"),
    (KafkaPythonMember, "cooperative-sticky"),
    (AiokafkaMember, "range"),
]


def named(value):
    return getattr(value, "__name__", value)


@pytest.mark.parametrize(("kind", "own"), CLIENTS, ids=named)
def test_a_rolling_restart_with_surge_causes_no_rebalance(kafka, topic, joined, kind, own):
    check_surge(kafka, topic, joined, kind, own)


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_without_seats_a_rolling_restart_causes_rebalances_and_observing_counts_them(kafka, topic, joined, mode):
    with (
        gateway(kafka.bootstrap_servers, seats=f".*={mode},seats.hold.seconds=60") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = Group(joined, through, topic, LibrdkafkaMember, "range")
        group.fill()
        before = group.generation()
        roll_with_surge(group)
        assert group.generation() >= before + MEMBERS
        assert through.acts.rebalances_spared["observe"] == (MEMBERS if mode == "observe" else 0)
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert {outcome for _, outcome in through.acts.counted} == ({"predicted"} if mode == "observe" else set())
    assert through.acts.rebalances_spared["on"] == 0


@pytest.mark.parametrize(("kind", "own"), CLIENTS, ids=named)
def test_a_member_that_restarts_within_the_time_of_its_rule_causes_no_rebalance(kafka, topic, joined, kind, own):
    check_restarts(kafka, topic, joined, kind, own)


def test_a_member_that_restarts_without_a_time_in_its_rule_leaves_as_without_seats(kafka, topic, joined):
    with gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=1") as through:
        group = Group(joined, through, topic, LibrdkafkaMember, "range")
        group.fill(2)
        before = group.generation()
        group.members.pop().close()
        eventually(group.whole, waiting_for=group.state())
        assert group.generation() > before
    assert (through.acts.done("keep"), through.acts.done("pass_leave")) == (0, 1)


def test_the_successor_of_a_killed_process_takes_its_seat(kafka, topic, joined_and_killed):
    check_successor_of_killed(kafka, topic, joined_and_killed, librdkafka_member, "range")


def test_the_seat_of_a_killed_process_without_successor_is_given_up_before_its_session_ends(
    kafka, topic, joined_and_killed
):
    session = {"session.timeout.ms": "300000"}
    check_killed(kafka, topic, joined_and_killed, librdkafka_member, "range", **session)


def test_a_gateway_that_stops_gives_up_vacant_seats_and_its_clients_recover_as_without_seats(kafka, topic, joined):
    with Load(kafka, topic, PARTITIONS) as load:
        with gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=1,seats.keep.seconds=300") as first:
            port = int(first.bootstrap.rpartition(":")[2])
            group = Group(joined, first, topic, LibrdkafkaMember, "range")
            group.fill()
            group.members.pop().close()
            eventually(lambda: first.acts.done("keep") == 1, waiting_for=group.state())
            before = group.generation()
        assert first.acts.done("give_up") == 1
        with gateway(kafka.bootstrap_servers, seats=".*=on", listen=("127.0.0.1", port)) as second:
            group.through = second
            eventually(group.whole, waiting_for=group.state())
            eventually(lambda: group.generation() > before, waiting_for=group.state())
            read_everything(load, *group.everybody)
            for each in group.members:
                each.close()


def test_a_gateway_that_stops_forwards_held_joins_and_their_clients_join_as_without_seats(kafka, topic, joined):
    with Load(kafka, topic, PARTITIONS) as load:
        with gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=10") as first:
            port = int(first.bootstrap.rpartition(":")[2])
            group = Group(joined, first, topic, LibrdkafkaMember, "range")
            group.fill(2)
            newcomer = group.start()
            eventually(lambda: first.acts.held == 1, waiting_for=group.state())
        assert first.acts.done("pass_join") == 1
        with gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=1", listen=("127.0.0.1", port)) as second:
            group.through = second
            group.members.append(newcomer)
            eventually(group.whole, waiting_for=group.state())
            read_everything(load, *group.everybody)
            for each in group.members:
                each.close()


class MountedSwitch:
    """The key of a ConfigMap as Kubernetes mounts it: a link through a folder that is replaced as a whole."""

    def __init__(self, folder):
        self._folder, self._versions = folder, itertools.count(1)
        self.path = folder / "seats"

    def say(self, text):
        """Change the ConfigMap; None: remove the key."""
        version = self._folder / f"..{next(self._versions)}"
        version.mkdir()
        if text is not None:
            (version / "seats").write_text(text)
        (self._folder / "..new").symlink_to(version.name)
        (self._folder / "..new").rename(self._folder / "..data")
        if not self.path.is_symlink():
            self.path.symlink_to("..data/seats")


def test_a_mounted_file_switches_seats_off_and_members_continue(kafka, topic, joined, tmp_path):
    switch = MountedSwitch(tmp_path)
    rule = ".*=on,seats.hold.seconds=1,seats.keep.seconds=300"
    with (
        gateway(kafka.bootstrap_servers, seats=rule, seat_options={"switch_file": str(switch.path)}) as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = Group(joined, through, topic, LibrdkafkaMember, "range")
        group.fill()
        group.members.pop().close()
        eventually(lambda: through.acts.vacant == 1, waiting_for=group.state())
        before = group.generation()
        switch.say("off")
        eventually(lambda: through.acts.off and group.whole(), waiting_for=group.state())
        assert through.acts.vacant == 0
        rebalanced = group.generation()
        assert rebalanced == before + 1, group.state()
        switch.say(None)
        eventually(lambda: not through.acts.off, waiting_for=group.state())
        group.members.pop(0).close()
        group.members.append(group.start())
        eventually(group.whole, waiting_for=group.state())
        assert group.generation() == rebalanced, group.state()
        assert through.acts.done("handover") == 1
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


def test_newcomers_that_start_together_cause_one_rebalance(kafka, topic, joined):
    check_scale_up(kafka, topic, joined, LibrdkafkaMember, "range", number=2, period_s=15)


def test_whole_gateways_hand_a_seat_over_say_when_their_consumers_are_ready_and_an_observer_shows_who_has_it(
    kafka, topic, joined
):
    published, group, seen = f"{topic}-events", f"group-of-{topic}", {}
    create_topic(kafka.bootstrap_servers, published, 1)
    rule = ".*=on,seats.hold.seconds=60,seats.between.gateways=true"
    settings = {"gateway_seats": rule, "events_topic": published}

    def members():
        seen["members"] = json.loads(observer.get(f"/api/v1/groups/{group}")[1]).get("members", [])
        return [(each["client_id"], each.get("occupant", {}).get("client_id")) for each in seen["members"]]

    with (
        observing(kafka.bootstrap_servers, events_topic=published) as observer,
        gatewaying(kafka.bootstrap_servers, **settings) as old_pod,
        gatewaying(kafka.bootstrap_servers, **settings) as new_pod,
    ):
        eventually(lambda: old_pod.ready() and new_pod.ready())
        assert [each.get("/readyz/member")[0] for each in (old_pod, new_pod)] == [503, 503]
        first = joined(LibrdkafkaMember, old_pod.bootstrap, group, topic, "first")
        eventually(lambda: len(first.owned) == PARTITIONS and old_pod.get("/readyz/member")[0] == 200)
        eventually(lambda: members() == [("first", None)], waiting_for=seen)
        second = joined(LibrdkafkaMember, new_pod.bootstrap, group, topic, "second")
        eventually(lambda: new_pod.get("/readyz/member")[0] == 200)
        assert not second.owned, "it is ready while it waits for the seat"
        first.close()
        eventually(lambda: len(second.owned) == PARTITIONS)
        eventually(lambda: members() == [("first", "second")], waiting_for=seen)
        spared = 'rebalance_agent_gateway_seats_rebalances_spared_total{mode="on"} 1.0'
        eventually(lambda: spared in new_pod.get("/metrics")[1].splitlines())
        lines = new_pod.get("/metrics")[1].splitlines()
        assert 'rebalance_agent_gateway_acts_total{act="handover",outcome="right"} 1.0' in lines
        acts = events(kafka.bootstrap_servers, published, group=group)
        shown = [(each["act"], each["outcome"]) for each in acts if each["kind"] == "seat"]
        assert {("seat", "done"), ("keep", "done"), ("handover", "done")} <= {*shown}, shown
        second.close()
