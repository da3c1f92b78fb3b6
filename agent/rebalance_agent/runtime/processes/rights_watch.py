"""Probes a running role's permissions regularly, and sets degraded modes from the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import structlog

from rebalance_agent.cluster.access import AccessCheck
from rebalance_agent.cluster.acls import principal_of
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.preflight.probes import ProbeResult, prove
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.settings.rights import BLIND_MODES, Right, acl_command, agent_rights, may_be_blind
from rebalance_agent.runtime.settings.roles import AgentSettings

__all__ = ["RIGHTS_PART", "RIGHTS_WATCH_S", "RightsWatch", "rights_parts", "rights_watch", "watch_rights"]

_log = structlog.get_logger("rebalance_agent.rights")

RIGHTS_WATCH_S = 60.0
"""Seconds between probes: permissions are granted by hand; more probes would only fill the brokers' audit log."""

RIGHTS_PART = "rights"
"""The readiness part of an observer that is not ready before the first probe, and while no group is visible."""

JOIN_S = 2.0
"""Longest wait for a running probe at stop, in seconds."""


@dataclass(eq=False)
class RightsWatch:
    """Probes permissions and records degraded modes each time it is called; it never raises.

    ``principal`` and ``servers`` are for the commands that grant missing permissions. ``denied``: degraded mode ->
    reason why brokers refused the running role, None if they did not. ``denied`` decides if brokers do not report
    allowed operations, and for modes that do not depend on a permission.
    """

    rights: Sequence[Right]
    access: AccessCheck
    health: LoggedHealth
    principal: str
    servers: str
    denied: Callable[[], Mapping[str, str | None]] = dict

    def __post_init__(self) -> None:
        """Prepare the first probe; optional permissions have no degraded mode."""
        self.rights = [right for right in self.rights if not right.optional]
        self._blind = False

    def __call__(self) -> None:
        """Probe the permissions, and record the result; if they cannot be probed, the last result stays."""
        try:
            self._blind = self._probe()
        except ClusterError:
            pass  # polls report the cluster's problem
        except Exception:  # noqa: BLE001 - an error must not end the watch
            _log.exception("rights_watch_failed")
        if self._blind:
            self.health.unready(RIGHTS_PART, "no group is visible: no permission on the offsets topic or on any group")
        elif may_be_blind(self.rights):
            # Ready even if the first probe failed: a cluster whose permissions cannot be probed may still show its
            # groups.
            self.health.ready(RIGHTS_PART)

    def _probe(self) -> bool:
        """Probe the permissions and record the degraded modes; return whether no group can be seen."""
        proofs = prove(self.rights, self.access)
        modes: dict[str, str | None] = {right.mode: None for right in self.rights}
        commands: dict[str, str] = {}
        refusals = self.denied()
        modes |= {mode: reason for mode, reason in refusals.items() if mode not in modes}
        for right, proof in proofs.items():
            refused = proof.verdict is ProbeResult.UNKNOWN and refusals.get(right.mode)
            if (proof.verdict is ProbeResult.MISSING or refused) and modes[right.mode] is None:
                modes[right.mode] = f"{right} is missing: {right.lost}"
                commands[right.mode] = acl_command(right, self.principal, self.servers)
        self.health.degraded(modes, commands)
        return all(modes.get(mode) for mode in BLIND_MODES)


def rights_parts(settings: AgentSettings) -> tuple[str, ...]:
    """Return the readiness parts that depend on permissions; set at startup, so that `ready` is not early."""
    return (RIGHTS_PART,) if may_be_blind(agent_rights(settings)) else ()


def rights_watch(
    settings: AgentSettings,
    properties: Mapping[str, str],
    access: AccessCheck,
    health: LoggedHealth,
    denied: Callable[[], Mapping[str, str | None]] = dict,
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
