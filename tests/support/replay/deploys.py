"""Normal deploys of groups of each kind, and topics that grow, without faults."""

from __future__ import annotations

from rebalance_agent.model.group import GroupType
from support.replay.fault import FROM
from support.replay.script import Script

__all__ = ["DEPLOYS"]

MEMBERS = 6
PODS = tuple(f"pod-{number}" for number in range(MEMBERS))


def _one_by_one(name, every=60, away=20, **spec):
    """Each member leaves, and its successor with the same name joins ``away`` seconds later."""
    script = Script(name, *PODS, **spec)
    for number, pod in enumerate(PODS):
        script.restart(FROM + every * number, pod, away)
    return script


def _successor_first(name, **spec):
    """Each member leaves when its successor runs, as in a deployment of Kubernetes."""
    script = Script(name, *PODS, **spec)
    for number, pod in enumerate(PODS):
        script.join(FROM + 40 * number, f"new-{pod}")
        script.leave(FROM + 40 * number + 10, pod)
    return script


def _all_at_once(name, **spec):
    """All members leave, and return 30 s later."""
    script = Script(name, *PODS, **spec)
    script.leave(FROM, *PODS)
    for pod in PODS:
        script.join(FROM + 30, pod)
    return script


def _static(name="static", deploys=1, every=60):
    """Static members return within their session, so the group does not rebalance."""
    script = Script(name, session_timeout_ms=60_000)
    for number, pod in enumerate(PODS):
        script.join(1, pod, instance_id=pod)
        for deploy in range(deploys):
            script.restart(FROM + every * (number + deploy * MEMBERS), pod, 20, instance_id=pod)
    return script


def _grown(late):
    """A topic grows, and the leader detects this as late as ``metadata.max.age.ms`` allows."""
    script = Script(f"grown {late} s after a scrape", *PODS, processing_ms=1_000)
    script.grow(FROM - late, FROM - late + 300, t=16)
    return script


DEPLOYS = {
    script.name: script
    for script in (
        _one_by_one("eager, one by one"),
        _one_by_one("eager, one by one, slowly", every=400, away=120),
        _one_by_one("cooperative, one by one", assignor="cooperative-sticky", reports=True),
        _successor_first("eager, successors first", reports=True),
        _successor_first("cooperative, successors first", assignor="cooperative-sticky"),
        _all_at_once("eager, all at once", reports=True),
        _static(),
        _static("static, three times within 12 min", deploys=3, every=40),
        _successor_first("eager, successors without partitions first", topics={"t": MEMBERS}),
        _successor_first(
            "consumer, successors without partitions first", kind=GroupType.CONSUMER, topics={"t": MEMBERS}
        ),
        _one_by_one("eager, a single owner", topics={"t": 1}),
        _one_by_one("consumer, one by one", kind=GroupType.CONSUMER, reports=True),
        _successor_first("consumer, successors first", kind=GroupType.CONSUMER),
        _one_by_one("streams, one by one", kind=GroupType.STREAMS),
        _one_by_one("share, one by one", kind=GroupType.SHARE),
        *(_grown(late) for late in (0, 5, 10)),
    )
}
"""Name of a group -> its script."""
