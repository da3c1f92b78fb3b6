"""Creates the demo's topics, starts the demo's processes on one broker, and executes the actions of the steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.processes.children import Children
from rebalance_agent.demo.processes.gateways import PORTS, GatewayPorts, gateways_of
from rebalance_agent.demo.scenario import GROUPS, group_named
from rebalance_agent.demo.scenario_types import (
    Action,
    AddPartitions,
    ClientLibrary,
    CreateTopic,
    DemoGroup,
    KillMember,
    SlowDown,
    StartMember,
    StopMember,
)
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.testing.kafka.broker_settings import HOST, free_ports

__all__ = ["DemoProcesses", "Ports", "choose_ports"]

ADMIN_TIMEOUT_SECONDS = 30.0
SETTLE_SECONDS = 4.0
"""The observer's ``--settle-seconds``, which is short because members' events come over the loopback interface."""

TOPICS_SECONDS = 1.0
"""The observer's interval for new topics and partitions, which is at most the members' interval."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports on the loopback interface. ``gateways``: name of a gateway -> ports of this gateway."""

    observer: int
    sidecar: int
    sidecar_events: int
    gateways: Mapping[str, GatewayPorts] = field(default_factory=dict)

    @property
    def addresses(self) -> dict[str, str]:
        """Return the ``/metrics`` URLs by process name."""
        return {
            "observer": f"http://{HOST}:{self.observer}/metrics",
            "sidecar": f"http://{HOST}:{self.sidecar}/metrics",
            **{name: f"http://{HOST}:{at.metrics}/metrics" for name, at in self.gateways.items()},
        }


def choose_ports(groups: Sequence[DemoGroup]) -> Ports:
    """Choose free ports for the observer, the sidecar and the gateways of ``groups``.

    Raises:
        DemoError: not enough ports are free.
    """
    names = [gateway.name for gateway in gateways_of(groups)]
    try:
        observer, sidecar, events, *others = free_ports(3 + PORTS * len(names))
    except OSError as error:
        raise DemoError(str(error)) from error
    gateways = {name: GatewayPorts(*others[at * PORTS : (at + 1) * PORTS]) for at, name in enumerate(names)}
    return Ports(observer, sidecar, events, gateways)


class DemoProcesses:
    """Creates topics, starts processes and executes actions; ``children`` has all processes."""

    def __init__(self, children: Children, bootstrap_servers: str, ports: Ports) -> None:
        """Create the admin client; nothing is started yet."""
        self._children = children
        self._bootstrap = bootstrap_servers
        self._ports = ports
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def start_agents(self, groups: Sequence[DemoGroup]) -> None:
        """Start the observer, a sidecar and the gateways of ``groups``, with the same command as users."""
        self._run_agent(
            *("observe", "observe"),
            *("--listen", f"{HOST}:{self._ports.observer}", "--settle-seconds", f"{SETTLE_SECONDS:g}"),
            *("--topics-interval-seconds", f"{TOPICS_SECONDS:g}"),
            *(
                "--host-names",
                ";".join(f"{re.escape(each.name)}={each.host_names}" for each in groups if each.host_names),
            ),
        )
        self._run_agent(
            *("sidecar", "sidecar"),
            *("--listen", f"{HOST}:{self._ports.sidecar}"),
            *("--events-listen", f"{HOST}:{self._ports.sidecar_events}"),
        )
        for gateway in gateways_of(groups):
            self._run_agent(gateway.name, "gateway", *gateway.flags(self._ports.gateways[gateway.name]))

    def _run_agent(self, name: str, command: str, *arguments: str) -> None:
        # exit_with_parent runs the sidecar, which does not watch its standard input and would otherwise outlive the
        # demo.
        self._children.start(
            *(name, "rebalance_agent.demo.processes.exit_with_parent", "rebalance_agent.cli.main", command),
            *("--bootstrap-servers", self._bootstrap, *arguments),
        )

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create ``topics`` (name -> number of partitions).

        Raises:
            DemoError: the broker rejects the request.
        """
        new = [NewTopic(topic, partitions, 1) for topic, partitions in topics.items()]
        self._await(self._admin.create_topics(new, operation_timeout=ADMIN_TIMEOUT_SECONDS))

    def start_producer(self, topics: Mapping[str, int], pattern: str) -> None:
        """Start the producer for ``topics`` and for topics that will match ``pattern``."""
        names = "|".join([*map(re.escape, topics), pattern.removeprefix("^")])
        self._children.start(
            "producer",
            "rebalance_agent.demo.processes.producer",
            *("--bootstrap-servers", self._bootstrap, "--topics", names),
        )

    def start_members(self, groups: tuple[DemoGroup, ...]) -> None:
        """Start all members that are not started by a step."""
        for group in groups:
            for member in group.members:
                if member.from_start:
                    self._start_member(group, member.name)

    def execute(self, action: Action) -> None:
        """Execute one action of a step.

        Raises:
            DemoError: the action failed.
        """
        match action:
            case StartMember(group, name):
                self._start_member(group_named(group), name)
            case StopMember(_, name):
                self._children.leave(name)
            case KillMember(_, name):
                self._children.kill(name)
            case SlowDown(_, name, seconds):
                self._children.send(name, f"slow {seconds:g}")
            case CreateTopic(topic, partitions):
                self.create_topics({topic: partitions})
            case AddPartitions(topic, total):
                self._await(self._admin.create_partitions([NewPartitions(topic, total)]))

    def _start_member(self, group: DemoGroup, name: str) -> None:
        member = next(each for each in group.members if each.name == name)
        gateway = next((each.name for each in gateways_of(GROUPS) if each.serves(group.name, name)), None)
        bootstrap = f"{HOST}:{self._ports.gateways[gateway].clients}" if gateway else self._bootstrap
        arguments = [
            *("--client", group.client, "--bootstrap-servers", bootstrap),
            *("--group", group.name, "--client-id", member.client_id, "--topics", group.topics),
            *("--session-timeout-ms", str(group.session_timeout_ms)),
        ]
        for assignor in member.assignors or (group.configured or group.assignor,):
            arguments += ["--assignor", assignor]
        if not gateway:
            for key, value in member.config.items():
                arguments += ["--config", f"{key}={value}"]
        if group.client is ClientLibrary.KAFKA_PYTHON:
            arguments += ["--events-url", f"http://{HOST}:{self._ports.sidecar_events}{EVENTS_PATH}"]
        self._children.start(name, "rebalance_agent.demo.processes.member", *arguments)

    @staticmethod
    def _await(futures: Mapping[str, object]) -> None:
        for topic, future in futures.items():
            try:
                future.result(ADMIN_TIMEOUT_SECONDS)  # type: ignore[attr-defined]
            except (KafkaException, TimeoutError) as error:
                raise DemoError(f"topic {topic}: {error}") from error
