"""Starts the processes of brokers and waits until they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.clock import Clock
from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.broker import Broker
from rebalance_agent.testing.kafka.java import JavaRuntime

__all__ = ["BrokerStart", "kill_all"]

PATIENCE = 3
"""A broker whose log still grows may take this many times the limit, because brokers start slowly on a busy machine."""

QUIET_S = 5.0
"""Seconds without a new line in the log after which a broker beyond the limit counts as failed."""

_POLL_S = 0.05
_CLASS_LIST = "classes.lst"


@dataclass(frozen=True, slots=True)
class BrokerStart:
    """Starts the brokers of one cluster.

    ``flags``: Java flags. ``temporary``: whether a broker's files are removed if this process ends without a stop.
    ``offsets_topic``: whether a start waits for ``__consumer_offsets``. ``timeout_s``: longest wait; beyond it,
    a broker whose log grows gets more time, see `PATIENCE`.
    """

    flags: Sequence[str]
    temporary: bool
    offsets_topic: bool
    timeout_s: float
    clock: Clock

    def launch(self, brokers: Iterable[Broker], cluster: Mapping[int, Broker], runtime: JavaRuntime) -> None:
        """Start ``brokers``, and wait until each running broker of ``cluster`` answers and reports the others as live.

        Raises:
            BrokerError: a broker ended or did not answer in time.
        """
        for broker in brokers:
            # Until there is a class archive, broker 1 lists its classes for the archive; see `class_archive`.
            listing = runtime.listing_flags(broker.node.directory / _CLASS_LIST) if broker.node.node_id == 1 else []
            broker.launch(runtime, (*listing, *self.flags), [broker.node.directory] if self.temporary else [])
        running = {node_id: each for node_id, each in cluster.items() if each.running}
        deadline = self.clock.monotonic() + self.timeout_s
        for broker in running.values():
            self._await(broker, lambda broker=broker: broker.answers(frozenset(running)), deadline)  # type: ignore[misc]
        if self.offsets_topic:
            last = list(running.values())[-1]
            self._await(last, last.has_coordinator, deadline)

    def build_archive(self, first: Broker, runtime: JavaRuntime) -> None:
        """Build the class archive from the classes that the ``first`` broker listed, if there is no archive yet."""
        runtime.build_archive(first.node.directory / _CLASS_LIST)

    def _await(self, broker: Broker, condition: Callable[[], bool], deadline: float) -> None:
        latest = deadline + (PATIENCE - 1) * self.timeout_s
        size, grew = broker.log_bytes(), self.clock.monotonic()
        while not condition():
            now = self.clock.monotonic()
            if size != (size := broker.log_bytes()):
                grew = now
            if now > latest or (now > deadline and now - grew > QUIET_S):
                waited = f"{now - deadline + self.timeout_s:.3g} s"
                raise BrokerError(broker.failure(f"was not ready within {waited}; the machine may be busy"))
            broker.process.exited.wait(_POLL_S)  # returns at once if the process ends


def kill_all(brokers: Iterable[Broker]) -> None:
    """Kill every broker that runs (SIGKILL)."""
    for broker in brokers:
        if broker.running:
            broker.process.kill()
