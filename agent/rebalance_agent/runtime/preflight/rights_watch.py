"""Asks again and again which rights are held: degraded modes are told from proof, and end by themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Protocol

import structlog

from rebalance_agent.cluster.acls import principal_of
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.preflight.probes import Asked, ProbeResult, prove
from rebalance_agent.runtime.preflight.rights import ADMIN_ONLY, Right, acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import AgentSettings

__all__ = ["RIGHTS_PART", "RIGHTS_WATCH_S", "HealthReporter", "RightsWatch", "watch_rights"]

RIGHTS_WATCH_S = 60.0
"""Rights are given by people: asking more often only fills the brokers' audit log."""


RIGHTS_PART = "rights"
"""Its name in readiness, where it is only while the agent is blind."""

BLIND = (ADMIN_ONLY, "groups-hidden")
"""The modes that leave no way to see a group when both hold."""

JOIN_S = 2.0
"""Longest wait at stop for a question that is on its way."""


class HealthReporter(Protocol):
    """What is used of `runtime.processes.logged_health.LoggedHealth`."""

    def degraded(self, modes: Mapping[str, str | None], commands: Mapping[str, str]) -> None:
        """Of each degraded mode why it holds, or None; ``commands`` mend those that do."""
        ...

    def ready(self, part: str) -> None:
        """``part`` works."""
        ...

    def unready(self, part: str, reason: str) -> None:
        """``part`` does not work, for ``reason``."""
        ...


class RightsWatch:
    """Call it every `RIGHTS_WATCH_S`; it never raises."""

    def __init__(
        self,
        rights: Iterable[Right],
        asked: Asked,
        told: HealthReporter,
        principal: str,
        servers: str,
        denied: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """``principal`` and ``servers`` are for the commands that are told.

        ``denied``: what the agent was refused while it worked, mode -> reason; it counts where brokers do not tell
        what is allowed.
        """
        self._rights = tuple(rights)
        self._asked = asked
        self._told = told
        self._principal = principal
        self._servers = servers
        self._denied = denied
        self._blind = False
        self._log = structlog.get_logger("rebalance_agent.rights")

    def __call__(self) -> None:
        """Ask, and tell."""
        try:
            proofs = prove(self._rights, self._asked)
        except ClusterError:
            return  # the polls say what is wrong with the cluster, and what was known of rights still stands
        except Exception:  # noqa: BLE001 - a fault of ours must not end the watch
            self._log.exception("rights_watch_failed")
            return
        modes: dict[str, str | None] = {right.mode: None for right in self._rights}
        commands: dict[str, str] = {}
        denied = self._denied()
        for right, proof in proofs.items():
            refused = proof.verdict is ProbeResult.UNTOLD and right.mode in denied
            if (proof.verdict is ProbeResult.MISSING or refused) and modes[right.mode] is None:
                modes[right.mode] = f"{right} is missing: {right.lost}"
                commands[right.mode] = acl_command(right, self._principal, self._servers)
        self._told.degraded(modes, commands)
        blind = all(modes.get(mode) for mode in BLIND)
        if blind:
            self._told.unready(RIGHTS_PART, "no group can be seen: neither the offsets topic nor a group is allowed")
        elif self._blind:
            self._told.ready(RIGHTS_PART)
        self._blind = blind


def watch_rights(
    settings: AgentSettings,
    properties: Mapping[str, str],
    asked: Asked,
    told: HealthReporter,
    stack: ExitStack,
    denied: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Watch what a role with these settings and librdkafka ``properties`` may do, until ``stack`` ends."""
    principal, servers = principal_of(properties), properties.get("bootstrap.servers", "")
    watch = RightsWatch(agent_rights(settings), asked, told, principal, servers, denied)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            watch()
            stop.wait(RIGHTS_WATCH_S)

    thread = threading.Thread(target=run, name="rights", daemon=True)
    thread.start()
    stack.callback(thread.join, JOIN_S)
    stack.callback(stop.set)
