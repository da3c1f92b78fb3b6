"""The life of a release of the chart: install, test, upgrade, uninstall."""

from __future__ import annotations

import json

from rebalance_agent import __version__
from support.cluster.consumers import SECONDS_MAX, events, samples
from support.helm.release import CHART, Release
from support.observer.observing import eventually, http


def test_the_observer_is_ready_and_reads_the_offsets_topic(release):
    status, text = http(f"http://{release.address}/readyz")
    assert status == 200
    parts = json.loads(text)
    assert parts["parts"]["offsets_topic"] == "ready"
    assert not parts.get("degraded")


def test_helm_test_passes(release):
    reported = release.helm("test", "rebalance-agent", "--timeout=120s")
    assert "Phase:          Succeeded" in reported
    assert "Failed" not in reported


def test_a_chart_of_an_older_version_is_upgraded_as_documented(node, kafka, consumers, tmp_path):
    topics = ("--set=observer.settings.events_topic=aged-events", "--set=observer.settings.state_topic=aged-state")
    aged = Release(node, kafka, "aged", "aged", ("--set=fullnameOverride=aged", *topics))
    aged.install(chart=older(node, tmp_path))
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: aged.completed(group), SECONDS_MAX, waiting_for="the group's start")
    before = aged.deployment()
    aged.helm("upgrade", "aged", str(CHART), "--reset-then-reuse-values", "--wait", "--timeout=240s")
    after = aged.deployment()
    version = "app.kubernetes.io/version"
    assert (before["metadata"]["labels"][version], after["metadata"]["labels"][version]) == ("0.0.1", __version__)
    assert after["spec"]["selector"] == before["spec"]["selector"]

    # The new process continues from the old one's snapshots, and counts its own observations.
    eventually(
        lambda: samples(aged.address, "kafka_rebalance_members", consumergroup=group),
        SECONDS_MAX,
        waiting_for="the group, as the new observer knows it from the old one",
    )
    assert aged.completed(group) == 0
    consumers.kubectl("scale", "deployment/consumer", "--replicas=3")
    consumers.settled(3)
    eventually(lambda: aged.completed(group, "member_joined"), SECONDS_MAX, waiting_for="a rebalance after the upgrade")
    reported = [event for event in events(kafka, group, "aged-events") if event["kind"] == "generation"]
    numbers = [event["generation"] for event in reported if not event.get("revision")]
    assert numbers == list(range(min(numbers), max(numbers) + 1)), "a rebalance is missing or reported twice"
    aged.helm("uninstall", aged.name)


def older(node, folder):
    """The chart under an older version, as if it had been published before."""
    node.plane.helm("package", str(CHART), "--version=0.0.1", "--app-version=0.0.1", f"--destination={folder}")
    return folder / "rebalance-agent-0.0.1.tgz"


def test_a_missing_secret_is_reported_as_documented(node, kafka):
    secret = ("--set=kafka.sasl.username=observer", "--set=kafka.sasl.password.secretName=observer")
    wanting = Release(node, kafka, "rebalance-agent", "wanting", ("--set=kafka.sasl.enabled=true", *secret))
    wanting.begin()
    page = (CHART.parents[1] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")

    def reported(reason):
        events = node.get("events", "--namespace", wanting.namespace, "--field-selector=reason=FailedMount")["items"]
        return any(reason in event["message"] for event in events)

    missing, without_key = 'secret "observer" not found', "references non-existent secret key: password"
    assert missing in page
    assert without_key in page
    eventually(lambda: reported(missing), SECONDS_MAX, waiting_for=missing)
    node.plane.kubectl("create", "secret", "generic", "observer", "--namespace", wanting.namespace)
    eventually(lambda: reported(without_key), SECONDS_MAX, waiting_for=without_key)
    wanting.helm("uninstall", wanting.name)


def test_an_uninstalled_release_leaves_no_objects(node, kafka):
    flags = ("--set=injection.enabled=true", "--set-string=injection.label=other", "--set=monitoring.enabled=true")
    other = Release(node, kafka, "other", "elsewhere", flags)
    other.install("--set=fullnameOverride=other")
    other.helm("test", "other", "--timeout=120s")
    assert len(other.objects()) > 5
    other.helm("uninstall", "other", "--wait", "--timeout=120s")
    eventually(lambda: not other.objects(), waiting_for="the end of all objects of a removed release")
