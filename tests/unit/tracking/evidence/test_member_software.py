"""Members have the client library that gateways reported last."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.tracking.evidence.kept_reports import report_bytes
from support.tracker.tracking import assigned, feed, listed, member, record, tick, topics, watch

JAVA, LIBRDKAFKA = ClientSoftware("apache-kafka-java", "4.3.0"), ClientSoftware("librdkafka", "2.16.1")
START = topics(0, t=4), listed(500), record(1_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=990)


def report(at, software, evidence=Evidence.GATEWAY, past=False):
    said = assigned("a", at, at + 10, 1, (0, 1))
    return replace(said, event=replace(said.event, software=software, evidence=evidence), past=past)


def libraries(*reports):
    tracker, _ = watch(*START, *reports)
    return [each.software for each in tracker.view("g").members]


def test_a_member_has_the_library_that_its_gateway_reported():
    assert libraries() == [None, None]
    assert libraries(report(1_100, JAVA)) == [JAVA, None]
    assert libraries(report(1_100, ClientSoftware("", "4.3.0"))) == [None, None]
    assert libraries(report(1_100, JAVA, past=True)) == [JAVA, None], "from before the observer's start"


def test_a_report_of_the_library_changes_the_view():
    tracker, _ = watch(*START, report(1_100, None))
    version = tracker.view("g").version
    feed(tracker, report(1_200, JAVA))
    assert tracker.view("g").version > version


def test_the_consumer_that_reported_last_counts():
    assert libraries(report(1_100, JAVA), report(1_200, LIBRDKAFKA))[0] == LIBRDKAFKA
    assert libraries(report(1_100, JAVA), report(1_200, None))[0] is None, "the seat's consumer names no library"


def test_the_clients_own_report_without_a_library_does_not_hide_it():
    assert libraries(report(1_100, JAVA), report(1_200, None, evidence=None))[0] == JAVA


def test_the_library_is_kept_as_long_as_the_member():
    hours = (tick(at * 1_000) for at in range(10, 3 * 3_600, 10))
    assert libraries(report(1_100, JAVA), *hours) == [JAVA, None]


def test_the_text_of_the_library_counts_as_memory():
    long = ClientSoftware(JAVA.name, JAVA.version + "x" * 100)
    assert report_bytes(report(1_100, long).event) - report_bytes(report(1_100, JAVA).event) == 100
