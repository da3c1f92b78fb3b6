"""Events of consumers in a cluster, which observer and sidecar both report with the reason."""

from __future__ import annotations

import json

from support.cluster.consumers import PARTITIONS, SECONDS_MAX, events, ready, samples
from support.observer.observing import eventually

LEAKED_BYTES = 2 << 30
"""Bytes that a consumer leaks before memory counts as short: far more than other programs on the node use at that
time."""

GONE = ("member_failed", "member_gone", "member_left")
"""Triggers of a rebalance after a member is gone."""


def sidecar(pod) -> str:
    return f"{pod['status']['podIP']}:29308"


def partitions(pod) -> float:
    """Partitions that were reported to a pod's sidecar."""
    return sum(samples(sidecar(pod), "kafka_rebalance_member_partitions").values())


def shared(consumers, count: int) -> bool:
    """Whether this number of pods have all partitions together, by their own sidecars."""
    pods = [pod for pod in consumers.pods() if ready(pod)]
    return len(pods) == count and sum(map(partitions, pods)) == PARTITIONS and all(map(partitions, pods))


def eventually_more(release, group, before, *triggers) -> None:
    eventually(
        lambda: release.completed(group, *triggers) > before,
        SECONDS_MAX,
        waiting_for=f"a rebalance of {group} by {triggers}",
    )


def test_scaling_up_and_down_is_reported_by_both(consumers, release):
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="two consumers that share all partitions")
    eventually_more(release, group, 0, "group_started")

    joined = release.completed(group, "member_joined")
    consumers.kubectl("scale", "deployment/consumer", "--replicas=3")
    consumers.settled(3)
    eventually(lambda: shared(consumers, 3), SECONDS_MAX, waiting_for="three consumers that share all partitions")
    eventually_more(release, group, joined, "member_joined")

    left = release.completed(group, "member_left")
    consumers.kubectl("scale", "deployment/consumer", "--replicas=2")
    consumers.settled(2)
    eventually_more(release, group, left, "member_left")
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="the partitions of the one that left")
    stalls = samples(release.address, "kafka_rebalance_stall_seconds_count", consumergroup=group, basis="exact")
    assert sum(stalls.values()) >= 1, "no stall is exact: sidecars' events did not reach the observer"


def test_a_rollout_is_reported_with_its_old_and_new_pods(consumers, release, kafka):
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="two consumers that share all partitions")
    before, old = release.completed(group), {pod["metadata"]["name"] for pod in consumers.pods()}
    consumers.kubectl("rollout", "restart", "deployment/consumer")
    consumers.kubectl("rollout", "status", "deployment/consumer", f"--timeout={SECONDS_MAX}s")
    new = {pod["metadata"]["name"] for pod in consumers.settled(2)}
    assert not new & old
    eventually_more(release, group, before, "member_left", "member_joined", "member_replaced")

    def goodbyes() -> set[str]:
        reported = [
            event for event in events(kafka, group) if event["kind"] == "member" and event["callback"] == "left"
        ]
        return {event["where"]["pod"] for event in reported}

    # The sidecar ends after its consumer, and sends its last events.
    eventually(lambda: goodbyes() >= old, 60, waiting_for="the last words of both pods that went")


def test_a_crash_is_reported_as_a_failure_and_the_sidecar_survives_it(consumers, release):
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="two consumers that share all partitions")
    before = release.completed(group, "member_failed", "member_gone")
    left = release.completed(group, "member_left")
    victim = consumers.pods()[0]
    consumers.kill(victim, "SIGKILL")
    eventually_more(release, group, before, "member_failed", "member_gone")
    assert release.completed(group, "member_left") == left
    consumers.settled(2)
    assert restarts(consumers.now(victim)) == (1, 0)


def test_too_much_memory_ends_the_consumer_only(consumers, release):
    consumers.deploy(1)
    eventually(lambda: shared(consumers, 1), SECONDS_MAX, waiting_for="a consumer with all partitions")
    consumers.kill(consumers.pods()[0], "SIGUSR1")

    def killed():
        (pod,) = consumers.pods()
        (status,) = pod["status"]["containerStatuses"]
        return status["lastState"].get("terminated", {}).get("reason") == "OOMKilled" and pod

    pod = eventually(killed, SECONDS_MAX, waiting_for="a consumer that was killed for its memory")
    assert restarts(pod)[1] == 0
    eventually(lambda: shared(consumers, 1), SECONDS_MAX, waiting_for="the consumer's return")


def test_memory_pressure_on_the_node_evicts_the_pod_that_causes_it(consumers, release):
    """Kubelet evicts once available memory is two gibibytes below the test's start, independent of the machine's
    memory."""
    group, node = consumers.name, consumers.node
    consumers.deploy(2, memory_max="64Gi")
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="two consumers that share all partitions")
    before = release.completed(group, *GONE)
    leaking, other = consumers.pods()
    seen = {}

    def evicted():
        """Kubelet's event, because the pod's status has no reason if the consumer ends cleanly within a second."""
        seen.update(node.memory(), phase=consumers.now(leaking)["status"]["phase"])
        return [event["message"] for event in consumers.events(leaking, "Evicted")]

    with node.evicting_below(node.memory()["availableBytes"] - LEAKED_BYTES):
        consumers.kill(leaking, "SIGUSR1")
        (message,) = eventually(evicted, SECONDS_MAX, waiting_for=seen)
        assert "low on resource: memory" in message
        eventually_more(release, group, before, *GONE)
        eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="the share of the pod in its place")
        assert restarts(consumers.now(other)) == (0, 0)
    everywhere = node.get("events", "--all-namespaces", "--field-selector=reason=Evicted")["items"]
    assert {event["involvedObject"]["name"] for event in everywhere} == {leaking["metadata"]["name"]}


def test_an_eviction_is_reported_as_a_leave_and_a_new_pod_takes_over(consumers, release):
    group = consumers.name
    consumers.deploy(2)
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="two consumers that share all partitions")
    left = release.completed(group, "member_left", "member_joined")
    name = consumers.pods()[0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": group}}
    path = f"/api/v1/namespaces/{group}/pods/{name}/eviction"
    consumers.node.plane.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    eventually_more(release, group, left, "member_left", "member_joined")
    eventually(lambda: shared(consumers, 2), SECONDS_MAX, waiting_for="the new pod's share")
    assert name not in {pod["metadata"]["name"] for pod in consumers.settled(2)}


def test_a_job_ends_although_its_sidecar_runs_without_end(consumers, kafka):
    consumers.job("once", seconds=5)
    consumers.kubectl("wait", "--for=condition=complete", "job/once", "--timeout=100s")
    (pod,) = consumers.node.get("pods", "--namespace", consumers.name, "--selector=job=once")["items"]
    (ended,) = pod["status"]["initContainerStatuses"]
    assert ended["name"] == "rebalance-agent"
    assert ended["state"]["terminated"]["exitCode"] == 0
    reported = {event["callback"] for event in events(kafka, consumers.name) if event["kind"] == "member"}
    assert {"assigned", "left"} <= reported


def restarts(pod) -> tuple[int, int]:
    """Restart counts of the consumer and its sidecar."""
    (consumer,) = pod["status"]["containerStatuses"]
    (beside,) = pod["status"]["initContainerStatuses"]
    return consumer["restartCount"], beside["restartCount"]
