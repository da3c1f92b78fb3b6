"""Probes a running role's permissions regularly; degraded modes follow the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import structlog

from rebalance_agent.cluster.access import AccessCheck
from rebalance_agent.cluster.acls import principal_of
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.preflight.probes import ProbeResult, prove
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.settings.rights import ADMIN_ONLY, Right, acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import AgentSettings

__all__ = ["RIGHTS_PART", "RIGHTS_WATCH_S", "RightsWatch", "rights_watch", "watch_rights"]

_log = structlog.get_logger("rebalance_agent.rights")

RIGHTS_WATCH_S = 60.0
"""Seconds between two probes: permissions are granted by hand, and more probes would only fill the brokers' audit
log."""

RIGHTS_PART = "rights"
"""The readiness part, which exists only while no group can be seen."""

BLIND = (ADMIN_ONLY, "groups-hidden")
"""The degraded modes that together leave no way to see a group."""

JOIN_S = 2.0
"""Longest wait at stop for a running probe, in seconds."""


@dataclass(eq=False)
class RightsWatch:
    """Probes permissions and records degraded modes each time it is called; it never raises.

    ``principal`` and ``servers`` are for the commands that grant missing permissions. ``denied``: degraded mode ->
    reason, for what brokers refused to the running role; it decides where brokers do not report what is allowed.
    ``blind``: the last probe found that no group can be seen.
    """

    rights: Sequence[Right]
    access: AccessCheck
    health: LoggedHealth
    principal: str
    servers: str
    denied: Callable[[], Mapping[str, str]] = dict
    blind: bool = field(default=False, init=False)

    def __call__(self) -> None:
        """Probe the permissions, and record the result."""
        try:
            proofs = prove(self.rights, self.access)
        except ClusterError:
            return  # polls report what is wrong with the cluster; the last known modes stay
        except Exception:  # noqa: BLE001 - an error must not end the watch
            _log.exception("rights_watch_failed")
            return
        modes: dict[str, str | None] = {right.mode: None for right in self.rights}
        commands: dict[str, str] = {}
        refusals = self.denied()
        for right, proof in proofs.items():
            refused = proof.verdict is ProbeResult.UNKNOWN and right.mode in refusals
            if (proof.verdict is ProbeResult.MISSING or refused) and modes[right.mode] is None:
                modes[right.mode] = f"{right} is missing: {right.lost}"
                commands[right.mode] = acl_command(right, self.principal, self.servers)
        self.health.degraded(modes, commands)
        blind = all(modes.get(mode) for mode in BLIND)
        if blind:
            self.health.unready(RIGHTS_PART, "no group is visible: no permission on the offsets topic or on any group")
        elif self.blind:
            self.health.ready(RIGHTS_PART)
        self.blind = blind


def rights_watch(
    settings: AgentSettings,
    properties: Mapping[str, str],
    access: AccessCheck,
    health: LoggedHealth,
    denied: Callable[[], Mapping[str, str]] = dict,
) -> RightsWatch:
    """Return the watch of a role's permissions, to be called every `RIGHTS_WATCH_S`."""
    principal, servers = principal_of(properties), properties.get("bootstrap.servers", "")
    return RightsWatch(agent_rights(settings), access, health, principal, servers, denied)


def watch_rights(
    settings: AgentSettings,
    properties: Mapping[str, str],
    access: AccessCheck,
    health: LoggedHealth,
    stack: ExitStack,
) -> None:
    """Probe the permissions of a role every `RIGHTS_WATCH_S`, in a thread that ``stack`` ends."""
    watch = rights_watch(settings, properties, access, health)

    def probe(stop: threading.Event) -> None:
        watch()
        stop.wait(RIGHTS_WATCH_S)

    worker = Worker(RIGHTS_PART, probe, health)
    worker.start()
    stack.callback(worker.join, JOIN_S)
    stack.callback(worker.stop)
