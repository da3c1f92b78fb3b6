"""A gateway that was killed or stopped knows its consumers' seats, and hands them over without a rebalance."""

from __future__ import annotations

import signal

import pytest

from rebalance_agent.gateway.seats.seat_list import decode_seats
from support.gateway.gateway_members import read_everything
from support.gateway.seat_groups import MEMBERS, PARTITIONS, Group
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import Load
from support.observer.observing import eventually
from support.seats.gateway_process import gateway_process

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RULE = ".*=on,seats.hold.seconds=20"
ACTS = 'rebalance_agent_gateway_acts_total{{act="{}",outcome="done"}}'


def assignments(members):
    """How often each was assigned partitions: each rebalance of an eager group does so for all."""
    return [sum(word == "assigned" for word, _, _ in each.lines) for each in members]


def saved(path, group):
    return decode_seats(path.read_bytes()).groups.get(group.name, ())


@pytest.mark.parametrize(
    ("end", "saves"),
    [(signal.SIGKILL, True), (signal.SIGTERM, True), (signal.SIGKILL, False)],
    ids=["killed", "stopped", "killed-without-a-file"],
)
def test_a_deploy_after_a_restart_of_the_gateway_causes_no_rebalance_where_it_saved_its_seats(
    kafka, topic, joined, tmp_path, end, saves
):
    path = tmp_path / "seats"
    more = {"gateway_seats_file": str(path)} if saves else {}
    with Load(kafka, topic, PARTITIONS) as load:
        with gateway_process(kafka.bootstrap_servers, RULE, **more) as first:
            group = Group(joined, first, topic, LibrdkafkaMember, "range")
            group.fill_at_once(MEMBERS)
            if saves:
                eventually(lambda: path.exists() and len(saved(path, group)) == MEMBERS)
            first.end(end)
        with gateway_process(kafka.bootstrap_servers, RULE, base=first.base, **more) as second:
            if saves:
                eventually(lambda: second.metric(ACTS.format("restore")) == MEMBERS)
            before = assignments(group.members[1:])
            new = group.start()
            eventually(lambda: second.metric(ACTS.format("hold")) >= 1 or new.owned)
            group.members.pop(0).close()
            group.members.append(new)
            eventually(lambda: group.whole() and new.owned)
            assert (assignments(group.members[:-1]) == before) == saves
            assert second.metric(ACTS.format("handover")) == saves
            read_everything(load, *group.everybody)
            for each in group.members:
                each.close()


def test_a_pod_that_comes_back_with_its_volume_causes_no_rebalance(kafka, topic, joined, tmp_path):
    """The consumer of a pod leaves, then its gateway stops; both start again, with the file. Another pod reads on."""
    path = tmp_path / "seats"
    rule = f"{RULE},seats.keep.seconds=40,seats.keep.stopped=true"
    with (
        Load(kafka, topic, PARTITIONS) as load,
        gateway_process(kafka.bootstrap_servers, RULE) as beside,
    ):
        with gateway_process(kafka.bootstrap_servers, rule, gateway_seats_file=str(path)) as first:
            group = Group(joined, first, topic, LibrdkafkaMember, "range")
            group.members = [group.start()]
            group.through = beside
            group.members.append(group.start())
            eventually(group.whole)
            eventually(lambda: path.exists() and len(saved(path, group)) == 1)
            old, other = group.members
            old.close()
            first.end(signal.SIGTERM)
        before = assignments([other])
        with gateway_process(kafka.bootstrap_servers, rule, base=first.base, gateway_seats_file=str(path)) as second:
            group.through = second
            group.members[0] = group.start()
            eventually(group.whole)
            assert assignments([other]) == before
            assert second.metric(ACTS.format("handover")) == 1
            read_everything(load, *group.everybody)
            for each in group.members:
                each.close()
