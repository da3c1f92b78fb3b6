"""Makes findings about the sources of generations: which are allowed, which one is used, and what each one costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.tail import TAIL_TUNING
from rebalance_agent.runtime.preflight.findings import Finding, passed, skipped
from rebalance_agent.runtime.preflight.probes import ProbeResult
from rebalance_agent.runtime.settings.rights import EVERYTHING, Right
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["SOURCES", "source_findings", "source_rights"]

SOURCES = ("offsets-topic", "frames", "describe")
"""The values of the setting ``source``; the source that shows most is first."""

_RIGHTS = {
    "offsets-topic": Right("Read", "Topic", OFFSETS_TOPIC, "", "", ""),
    "describe": Right("Describe", "Group", EVERYTHING, "", "", ""),
}
"""Rights with their names only; the module `rights` has their purposes."""


def source_rights(settings: ObserverSettings) -> dict[str, Right]:
    """Return source -> required right. ``frames`` requires none if no events topic is set: events can be posted."""
    events = {"frames": Right("Read", "Topic", settings.events_topic, "", "", "")} if settings.events_topic else {}
    return _RIGHTS | events


def source_findings(
    settings: ObserverSettings, probes: Mapping[str, ProbeResult], brokers: int, groups: int, no_epochs: str = ""
) -> Iterator[Finding]:
    """Yield one finding per source. ``probes``: source -> result for its right; ``groups``: number of shown groups.

    ``no_epochs``: why groups whose coordinator assigns cannot be described with epochs; an empty string if they can.
    """
    rights = source_rights(settings)
    allowed = {source: probes.get(source) is not ProbeResult.MISSING for source in SOURCES}
    if not (settings.events_topic or settings.events_listen):
        allowed["frames"] = False
    used = _used(settings, allowed)
    costs = _costs(settings, brokers, groups)
    if no_epochs:
        costs["describe"] += f"; these generations cannot be read now: {no_epochs}"
    for source in SOURCES:
        name, right = f"source {source}", rights.get(source)
        if not allowed[source]:
            text = f"not allowed: needs {right}" if right else "needs events_topic or events_listen"
            yield skipped(name, text)
            continue
        needs = f"needs {right}; " if right else ""
        unproven = (
            "; it is unknown whether the permission is granted" if probes.get(source) is ProbeResult.UNKNOWN else ""
        )
        yield passed(name, f"{'used' if source == used else 'not used'}; {needs}{costs[source]}{unproven}")


def _used(settings: ObserverSettings, allowed: Mapping[str, bool]) -> str:
    if settings.source != "auto":
        return settings.source
    return next((source for source in SOURCES if allowed[source]), "")


def _costs(settings: ObserverSettings, brokers: int, groups: int) -> dict[str, str]:
    """Return each source's cost per second for all brokers together; an upper limit if the cost depends on traffic."""
    fetches = brokers * 1000 / int(TAIL_TUNING["fetch.wait.max.ms"])
    # Groups are listed twice: librdkafka lists classic groups, kafka-python lists groups whose coordinator assigns.
    listings = brokers * (1000 / settings.list_interval_ms + 1 / settings.list_all_interval_seconds)
    both = brokers * (1000 / settings.list_interval_ms + 1 / settings.describe_interval_seconds) + listings
    described = f"{_number(groups / settings.describe_interval_seconds)} descriptions of groups"
    lists, all_lists = (f"{_number(number)} ListGroups per second" for number in (listings, both))
    return {
        "offsets-topic": f"up to {_number(fetches)} fetches and {lists}",
        "frames": f"{described} and {all_lists}; covers groups of the classic protocol whose leader reports its "
        "generations or is behind a gateway with gateway_generations",
        "describe": f"{described} and {all_lists}; shows members and assignments, and generations of groups whose "
        "coordinator assigns",
    }


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
