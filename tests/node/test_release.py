"""The chart's life: installed, tested, changed, removed."""

from __future__ import annotations

import json

from support.cluster.consumers import SECONDS_MAX, events, samples
from support.cluster.release import Release
from support.observing import eventually, http


def test_the_observer_is_ready_and_reads_the_offsets_topic(release):
    status, text = http(f"http://{release.address}/readyz")
    assert status == 200
    parts = json.loads(text)
    assert parts["parts"]["offsets_topic"] == "ready"
    assert not parts.get("degraded")


def test_helm_test_passes(release):
    told = release.helm("test", "rebalance-agent", "--timeout=120s")
    assert "Phase:          Succeeded" in told
    assert "Failed" not in told


def test_an_upgrade_replaces_the_observer_and_tells_nothing_twice(release, consumers, kafka):
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: release.completed(group), SECONDS_MAX, told="the group's start")
    selector = release.node.get("deployment", "rebalance-agent", "--namespace", release.namespace)["spec"]["selector"]
    release.install("--set-string=observer.podAnnotations.changed=yes")
    after = release.node.get("deployment", "rebalance-agent", "--namespace", release.namespace)
    assert after["spec"]["selector"] == selector
    assert after["spec"]["template"]["metadata"]["annotations"]["changed"] == "yes"

    # The new process counts what it sees itself, and begins at nothing.
    eventually(
        lambda: samples(release.address, "kafka_rebalance_members", consumergroup=group),
        SECONDS_MAX,
        told="the group, as the new observer knows it from the old one",
    )
    assert release.completed(group) == 0
    consumers.kubectl("scale", "deployment/consumer", "--replicas=3")
    consumers.settled(3)
    eventually(lambda: release.completed(group, "member_joined"), SECONDS_MAX, told="a rebalance after the upgrade")
    told = [event for event in events(kafka, group) if event["kind"] == "generation" and not event.get("revision")]
    numbers = [event["generation"] for event in told]
    assert len(numbers) == len(set(numbers)), numbers
    assert numbers == list(range(min(numbers), max(numbers) + 1)), "a generation is missing"


def test_removal_leaves_nothing(node, kafka):
    flags = ("--set=injection.enabled=true", "--set-string=injection.label=other", "--set=monitoring.enabled=true")
    other = Release(node, kafka, "other", "elsewhere", flags)
    other.install("--set=fullnameOverride=other")
    assert len(other.objects()) > 5
    other.helm("uninstall", "other", "--wait", "--timeout=120s")
    eventually(lambda: not other.objects(), told="the end of all objects of a removed release")
