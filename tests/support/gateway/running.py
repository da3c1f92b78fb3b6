"""A gateway in a thread, with its events and counters, and consumers that use it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from rebalance_agent.clock import SystemClock
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.gateway_server import Gateway, ListenAddresses
from rebalance_agent.gateway.groups import GroupInterceptors, parse_rules
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.gateway.seating import SeatingGroups
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.model.events import MemberEvent
from support.gateway.acts import RecordedActs
from support.observer.fakes import Calls

PATIENCE_S = 60


class Running:
    """Events and counters of one gateway; ``acts``: its acts on seats."""

    def __init__(self):
        self.events, self.outcomes, self.bootstrap, self.groups = [], [], "", None
        self.acts, self.seats = RecordedActs(), None
        self.counts, self.telemetry = GatewayCounters(), None

    def reported(self, callback, **fields):
        events = [each for each in self.events if isinstance(each, MemberEvent) and each.callback == callback]
        return [each for each in events if all(getattr(each, name) == value for name, value in fields.items())]

    def generation(self, group):
        """The newest generation in responses to members of the group; -1 without one."""
        return max(
            (each.membership.generation for each in self.groups.entries if each.membership.group == group), default=-1
        )


@contextmanager
def gateway(
    bootstrap,
    rules="",
    *,
    listen=("127.0.0.1", 0),
    port_base=0,
    seats="",
    seat_options=None,
    telemetry_s=0,
    **options,
):
    """A gateway for this process's clients; yields a `Running`. ``options`` are those of `GroupInterceptors`.

    ``seat_options``: those of `SeatingGroups`. ``telemetry_s``: seconds between two pushes of a client.
    """
    running, ready, loops = Running(), threading.Event(), []

    async def serve():
        stop = asyncio.Event()
        clock = SystemClock()
        if seats:
            running.seats = SeatingGroups(parse_seat_rules(seats), clock, running.acts, **(seat_options or {}))
        seating = asyncio.create_task(running.seats.run()) if seats else None
        counted = {"count": running.outcomes.append, "seats": running.seats, **options}
        running.groups = GroupInterceptors(parse_rules(rules), running.events.append, clock, **counted)
        servers = [each.rpartition(":") for each in bootstrap.split(",")]
        addresses = tuple((host, int(port)) for host, _, port in servers)
        places = ListenAddresses(addresses, listen, "127.0.0.1", port_base)
        running.telemetry = TelemetryClients(clock, telemetry_s, running.counts.push_ended)
        one = Gateway(places, running.groups.for_connection, running.counts, Calls(), clock, running.telemetry)
        await one.start()
        running.bootstrap = f"127.0.0.1:{one.port}"
        loops.append((asyncio.get_running_loop(), stop))
        ready.set()
        ending = asyncio.Event()

        async def end():
            await stop.wait()
            if seats:
                await running.seats.switch_off()
            ending.set()

        watching = asyncio.create_task(end())
        try:
            await one.run(ending, 0.0)
        finally:
            watching.cancel()
            running.groups.close()
            if seating:
                seating.cancel()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield running
    finally:
        for loop, stop in loops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)


class Owners:
    """The owners of partitions by consumers' callbacks; ``twice``: partitions with two owners at the same time."""

    def __init__(self):
        self._lock, self._held, self.twice = threading.Lock(), {}, []

    def take(self, who, partitions):
        with self._lock:
            self.twice += [each for each in partitions if each in self._held]
            self._held.update(dict.fromkeys(partitions, who))

    def give(self, who, partitions):
        with self._lock:
            for each in partitions:
                if self._held.get(each) is who:
                    del self._held[each]


class Plain:
    """A plain confluent-kafka consumer, polled by a thread; ``owned``: its partitions."""

    def __init__(self, bootstrap, group, *topics, owners=None, **properties):
        usual = {"heartbeat.interval.ms": 200, "session.timeout.ms": 10_000, "log_level": 0}
        settings = {"bootstrap.servers": bootstrap, "group.id": group, **usual, **properties}
        self.consumer = Consumer({name: value for name, value in settings.items() if value is not None})
        self.owned, self.assigned, self.held = frozenset(), 0, threading.Event()
        self._owners, self._stop = owners or Owners(), threading.Event()
        self.consumer.subscribe(list(topics), on_assign=self._take, on_revoke=self._give, on_lost=self._give)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _take(self, _consumer, partitions):
        new = frozenset((each.topic, each.partition) for each in partitions)
        self._owners.take(self, new)
        self.owned, self.assigned = self.owned | new, self.assigned + 1

    def _give(self, _consumer, partitions):
        gone = frozenset((each.topic, each.partition) for each in partitions)
        self.owned -= gone
        self._owners.give(self, gone)

    def _poll(self):
        while not self._stop.wait(0.01):
            if not self.held.is_set():
                self.consumer.poll(0.05)
        self.consumer.close()

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE_S)


class KafkaPython:
    """kafka-python's own consumer, polled by a thread."""

    def __init__(self, bootstrap, group, topic, client_id, **settings):
        self._settings = {
            "bootstrap_servers": bootstrap,
            "group_id": group,
            "client_id": client_id,
            "heartbeat_interval_ms": 200,
            "session_timeout_ms": 10_000,
            **settings,
        }
        self._topic, self._stop = topic, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        consumer = KafkaConsumer(self._topic, **self._settings)
        while not self._stop.is_set():
            consumer.poll(timeout_ms=500)
        consumer.close()

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE_S)


class Aiokafka(KafkaPython):
    """aiokafka's own consumer, in its own event loop."""

    def _run(self):
        asyncio.run(self._consume())

    async def _consume(self):
        consumer = AIOKafkaConsumer(self._topic, **self._settings)
        await consumer.start()
        try:
            while not self._stop.is_set():
                await consumer.getmany(timeout_ms=100)
        finally:
            await consumer.stop()
