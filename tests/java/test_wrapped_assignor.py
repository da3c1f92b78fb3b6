"""Java consumers with a wrapped assignor, set by configuration alone, report exact times."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack, closing

import pytest

from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from support.java.client_jar import compiled, kafka_clients, wrapped_member
from support.java.logged_stalls import longest_ms
from support.members.reporting_program import stalls_of_two
from support.observer.observing import beside, create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

CALLBACK_MS = 120
ROUNDS = int(os.environ.get("REBALANCE_AGENT_JAVA_ROUNDS", "3"))
DIFFERENCE_MS_MAX = 50
PACKAGE = "org.apache.kafka.clients.consumer"


CLIENTS = dict.fromkeys(["3.7.2", "3.9.2", kafka_version().number, "4.4.0"])
"""The oldest supported clients, the last of 3.x, those of the embedded Kafka, and the newest."""


@pytest.fixture(scope="module", params=CLIENTS)
def class_path(request, tmp_path_factory):
    return compiled(kafka_clients(request.param), tmp_path_factory.mktemp("java"))


@pytest.fixture
def group(kafka):
    """An observer and a sidecar, and what starts members of one new group."""
    with ExitStack() as stack:
        yield Group(kafka.bootstrap_servers, stack)


class Group:
    def __init__(self, bootstrap, stack):
        unique = uuid.uuid4().hex[:8]
        self.bootstrap, self.name = bootstrap, f"group-{unique}"
        self.topic, self.published = f"topic-{unique}", f"events-{unique}"
        self._stack = stack
        create_topic(bootstrap, self.topic, 4)
        self.observer = stack.enter_context(observing(bootstrap, events_topic=self.published, settle_seconds=2))
        self.sidecar = stack.enter_context(beside(bootstrap, events_topic=self.published))
        self.url = f"http://127.0.0.1:{self.sidecar.role.events_port}/v1/events"

    def join(self, class_path, client_id, callback_ms=CALLBACK_MS, **properties):
        member = wrapped_member(
            class_path, self.bootstrap, self.name, self.topic, client_id, callback_ms, self.url, **properties
        )
        return self._stack.enter_context(closing(member))

    def reports(self, **fields):
        kept = [event for event in events(self.bootstrap, self.published, group=self.name) if "process" in event]
        return [event for event in kept if all(event.get(name) == value for name, value in fields.items())]

    def stalls(self):
        """The stalls of the rebalances in which a second member joined."""
        return stalls_of_two(self.bootstrap, self.published, self.name)


def settled(group, number):
    eventually(lambda: group.observer.metric("kafka_rebalance_members", consumergroup=group.name) == number)
    eventually(lambda: group.observer.metric("kafka_rebalance_partitions_unassigned", consumergroup=group.name) == 0)


@pytest.mark.parametrize("assignor", ["RangeAssignor", "StickyAssignor", "CooperativeStickyAssignor"])
def test_stalls_are_exact_and_as_the_members_measured_them(class_path, group, assignor):
    wrapped = {"rebalance_agent_assignor": f"{PACKAGE}.{assignor}"}
    one = group.join(class_path, "one", **wrapped)
    eventually(lambda: one.owned == {0, 1, 2, 3}, waiting_for=one.errors)
    settled(group, 1)
    for round_ in range(ROUNDS):
        before = len(group.stalls())
        two = group.join(class_path, f"two-{round_}", **wrapped)
        eventually(lambda: len(two.owned) == 2, waiting_for=(one.errors, two.errors))  # noqa: B023
        eventually(lambda: len(group.stalls()) > before, waiting_for=(one.errors, two.errors))  # noqa: B023
        moved_ms = longest_ms(one, two)
        two.close()
        eventually(lambda: one.owned == {0, 1, 2, 3}, waiting_for=one.errors)
        settled(group, 1)
        stall = group.stalls()[before]
        assert stall["basis"] == "exact", stall
        assert abs(stall["seconds"] * 1000 - moved_ms) <= DIFFERENCE_MS_MAX, (stall, one.lines, two.lines)
    for callback, at in (("revoked", "started_ms"), ("assigned", "timestamp_ms")):
        reported = group.reports(kind="member", callback=callback, client_id="one")
        logged = [ms for word, ms, numbers in one.lines if word == callback and numbers]
        assert all(abs(event[at] - ms) <= DIFFERENCE_MS_MAX for event, ms in zip(reported, logged, strict=True))
        assert all(event["timestamp_ms"] - event["started_ms"] >= CALLBACK_MS for event in reported)
    assert {event["assignor"] for event in group.reports(kind="assign")} == {protocol(assignor)}
    left = group.reports(kind="member", callback="left")
    assert len(left) == ROUNDS
    assert {event["software"]["name"] for event in left} == {"apache-kafka-java"}
    assert all(event["software"]["version"][:1].isdigit() for event in left)
    group.sidecar.metrics()  # the first scrape that has a series shows it at 0
    timed = {"consumergroup": group.name, "callback": "revoked"}
    assert group.sidecar.metric("kafka_rebalance_member_callback_seconds_count", **timed) >= ROUNDS


def protocol(assignor):
    return {"RangeAssignor": "range", "StickyAssignor": "sticky"}.get(assignor, "cooperative-sticky")


def test_wrapped_and_bare_members_form_one_group_and_a_dead_sidecar_is_harmless(class_path, group):
    wrapped = group.join(
        class_path,
        "wrapped",
        partition_assignment_strategy="rebalanceagent.client.InstrumentedCooperativeStickyAssignor,"
        "rebalanceagent.client.InstrumentedRangeAssignor",
        rebalance_agent_events_url="http://127.0.0.1:1/v1/events",
    )
    bare = group.join(
        class_path,
        "bare",
        callback_ms=1,
        partition_assignment_strategy=f"{PACKAGE}.CooperativeStickyAssignor,{PACKAGE}.RangeAssignor",
        metric_reporters=None,
    )
    eventually(lambda: len(wrapped.owned) == 2 == len(bare.owned), waiting_for=(wrapped.errors, bare.errors))


def test_a_member_without_a_listener_reports_too(class_path, group):
    group.join(class_path, "silent", callback_ms=-1)
    eventually(lambda: group.reports(callback="assigned", client_id="silent"))
    group.join(class_path, "other")
    eventually(lambda: group.reports(callback="revoked", client_id="silent"))
    settled(group, 2)
