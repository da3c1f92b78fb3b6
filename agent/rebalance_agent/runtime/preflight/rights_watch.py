"""Probes the rights of a running role regularly: degraded modes follow from probes, and end when rights are granted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Protocol

import structlog

from rebalance_agent.cluster.acls import principal_of
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.preflight.probes import AccessProbe, ProbeResult, prove
from rebalance_agent.runtime.preflight.rights import ADMIN_ONLY, Right, acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import AgentSettings

__all__ = ["RIGHTS_PART", "RIGHTS_WATCH_S", "HealthReporter", "RightsWatch", "watch_rights"]

RIGHTS_WATCH_S = 60.0
"""Seconds between two probes: people grant rights, and more frequent probes only fill the brokers' audit log."""

RIGHTS_PART = "rights"
"""The readiness part, which exists only while no group can be seen."""

BLIND = (ADMIN_ONLY, "groups-hidden")
"""The degraded modes that together leave no way to see a group."""

JOIN_S = 2.0
"""Longest wait at stop for a running probe, in seconds."""


class HealthReporter(Protocol):
    """The methods of `runtime.processes.logged_health.LoggedHealth` that the watch calls."""

    def degraded(self, modes: Mapping[str, str | None], commands: Mapping[str, str]) -> None:
        """Record degraded modes: name -> why it holds, None where it does not; ``commands`` resolve those that hold."""
        ...

    def ready(self, part: str) -> None:
        """Record that ``part`` works."""
        ...

    def unready(self, part: str, reason: str) -> None:
        """Record that ``part`` does not work, for ``reason``."""
        ...


class RightsWatch:
    """Probes rights and records degraded modes each time it is called; it never raises."""

    def __init__(
        self,
        rights: Iterable[Right],
        access: AccessProbe,
        health: HealthReporter,
        principal: str,
        servers: str,
        denied: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """``principal`` and ``servers`` are for the commands that grant missing rights.

        ``denied``: degraded mode -> reason, for what brokers refused to the running role; it decides where brokers do
        not report what is allowed.
        """
        self._rights = tuple(rights)
        self._access = access
        self._health = health
        self._principal = principal
        self._servers = servers
        self._denied = denied
        self._blind = False
        self._log = structlog.get_logger("rebalance_agent.rights")

    def __call__(self) -> None:
        """Probe the rights, and record the result."""
        try:
            proofs = prove(self._rights, self._access)
        except ClusterError:
            return  # polls report what is wrong with the cluster; the last known modes stay
        except Exception:  # noqa: BLE001 - an error must not end the watch
            self._log.exception("rights_watch_failed")
            return
        modes: dict[str, str | None] = {right.mode: None for right in self._rights}
        commands: dict[str, str] = {}
        denied = self._denied()
        for right, proof in proofs.items():
            refused = proof.verdict is ProbeResult.UNKNOWN and right.mode in denied
            if (proof.verdict is ProbeResult.MISSING or refused) and modes[right.mode] is None:
                modes[right.mode] = f"{right} is missing: {right.lost}"
                commands[right.mode] = acl_command(right, self._principal, self._servers)
        self._health.degraded(modes, commands)
        blind = all(modes.get(mode) for mode in BLIND)
        if blind:
            self._health.unready(RIGHTS_PART, "no group can be seen: neither the offsets topic nor a group is allowed")
        elif self._blind:
            self._health.ready(RIGHTS_PART)
        self._blind = blind


def watch_rights(
    settings: AgentSettings,
    properties: Mapping[str, str],
    access: AccessProbe,
    health: HealthReporter,
    stack: ExitStack,
    denied: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Probe the rights of a role every `RIGHTS_WATCH_S`, in a thread that ``stack`` ends."""
    principal, servers = principal_of(properties), properties.get("bootstrap.servers", "")
    watch = RightsWatch(agent_rights(settings), access, health, principal, servers, denied)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            watch()
            stop.wait(RIGHTS_WATCH_S)

    thread = threading.Thread(target=run, name="rights", daemon=True)
    thread.start()
    stack.callback(thread.join, JOIN_S)
    stack.callback(stop.set)
