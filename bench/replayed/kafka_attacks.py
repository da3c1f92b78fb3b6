"""Attacks through the broker: claims of sidecars, a huge assignment, and long names of groups."""

from __future__ import annotations

import http.client
import random
from collections.abc import Iterator
from itertools import islice
from time import monotonic, sleep, time_ns

from bench.observer.attack import ATTACKS, EVENTS, attacked
from bench.observer.observing import PATIENCE_S, Observer, agent, observer
from bench.replayed.posting import claim, post
from bench.replayed.replayed_row import ReplayedRow
from bench.synthetic import OFFSETS_PARTITIONS, TOPIC, generation, offsets_broker, partition_of, writer
from rebalance_agent.testing.kafka.broker_settings import free_ports

__all__ = ["huge_assignments", "long_names", "member_claims"]

CLAIMS, CLAIMS_IN_ALL, CLAIMS_A_POST = 80, 300, 10
PAST_S = 5.0
"""Seconds after which an observer that is ready has read the past events of members, which takes a second."""

RECEIVED = 'rebalance_agent_events_received_total{kind="member"}'

VICTIM = "delay"
BURST, FLOOD_S = 12, 25
VICTIMS = 10
SHOWN_S = 60.0
"""Maximum wait (seconds) for a generation of the other group."""

NAMES, NAME_LENGTH = 50, 32_000


def member_claims(scale: float) -> Iterator[ReplayedRow]:
    """Finding 1: member events that claim 100,000 partitions in 7 characters each, of a group that does not exist.

    The first ones are posted to a sidecar, which accepts them at the rate that it allows. The others are written to the
    topic, as the principal of any sidecar may do.
    """
    posted, in_all = max(1, round(CLAIMS * scale)), max(2, round(CLAIMS_IN_ALL * scale))
    with offsets_broker() as (kafka, _):
        bootstrap = kafka.bootstrap_servers
        (port,) = free_ports(1)
        flags = ("--bootstrap-servers", bootstrap, "--events-listen", f"127.0.0.1:{port}")
        with observer(bootstrap) as watching, agent("sidecar", *flags) as sidecar:
            watching.wait(lambda: watching.ready() and sidecar.ready(), PATIENCE_S)
            idle = watching.rss_mib()
            for begin in range(0, posted, CLAIMS_A_POST):
                lines = [claim(number) for number in range(begin, min(posted, begin + CLAIMS_A_POST))]
                while post(port, lines) == http.HTTPStatus.TOO_MANY_REQUESTS:
                    sleep(1)
            watching.wait(lambda: watching.value(RECEIVED) == posted, PATIENCE_S)
            row = _claims(posted, "84 -> 384 MiB", watching)
            yield row._replace(now=f"{idle:.0f} -> {row.now}")
        yield _restarted(bootstrap, posted, "384 MiB")
        with observer(bootstrap) as watching:
            watching.wait(watching.ready, PATIENCE_S)
            sleep(PAST_S)
            before = watching.value(RECEIVED) or 0.0
            producer = writer(bootstrap)
            for number in range(posted, in_all):
                producer.produce(EVENTS, key=b"claims", value=claim(number))
            producer.flush()
            watching.wait(lambda: watching.value(RECEIVED) == before + in_all - posted, PATIENCE_S)
            yield _claims(in_all, "1,222 MiB", watching)
        yield _restarted(bootstrap, in_all, "1,120 MiB")


def _claims(number: int, before: str, watching: Observer) -> ReplayedRow:
    return ReplayedRow(1, f"{number} claims", "observer, peak", before, f"{watching.peak_mib():.0f} MiB")


def _restarted(bootstrap: str, number: int, before: str) -> ReplayedRow:
    with observer(bootstrap) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        sleep(PAST_S)
        return _claims(number, before, watching)._replace(figure="observer, peak after a restart")


def huge_assignments(scale: float) -> Iterator[ReplayedRow]:
    """Finding 2: a member of one group is assigned 220,000 partitions of no topic, in each generation."""
    burst, victims = max(1, round(BURST * scale)), max(1, round(VICTIMS * scale))
    with offsets_broker() as (kafka, _), observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        cpu = watching.cpu_seconds()
        producer = writer(kafka.bootstrap_servers, linger_ms=0)
        for topic, key, value in islice(ATTACKS["absurd"].records(random.Random(1)), burst):
            producer.produce(topic, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
        producer.flush()
        attack = f"{burst} generations of 880 kB at once"
        delay = _delay_s(kafka.bootstrap_servers, watching, 1)
        yield ReplayedRow(2, attack, "another group is shown after", "28 s", _seconds(delay))
        watching.wait(lambda: watching.generation_of("hostile") == burst, PATIENCE_S)
        used = f"{(watching.cpu_seconds() - cpu) / burst:.2f} CPU-s"
        yield ReplayedRow(2, attack, "cost of a generation, with all other work", "2.1 - 2.5 CPU-s", used)
        with attacked(kafka.bootstrap_servers, ["absurd"], seed=1):
            delays = []
            for number in range(2, victims + 2):
                sleep(FLOOD_S / VICTIMS)
                delays.append(_delay_s(kafka.bootstrap_servers, watching, number))
        attack, shown = f"15 a second, for at least {FLOOD_S * victims // VICTIMS} s", [each for each in delays if each]
        now = f"{len(shown)} of {victims}, after at most {max(shown, default=0):.1f} s"
        yield ReplayedRow(2, attack, "generations of another group that are shown", "0 of 10", now)
        yield ReplayedRow(2, attack, "observer, peak", "3,277 MiB", f"{watching.peak_mib():.0f} MiB")


def _delay_s(bootstrap: str, watching: Observer, number: int) -> float | None:
    """Write a generation of the other group; return the seconds until the API shows it, None after `SHOWN_S`."""
    producer, begun = writer(bootstrap, linger_ms=0), monotonic()
    key, value = generation(VICTIM, number, time_ns() // 1_000_000)
    producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
    producer.flush()
    while monotonic() < begun + SHOWN_S:
        if watching.generation_of(VICTIM) == number:
            return monotonic() - begun
        sleep(0.02)
    return None


def _seconds(delay: float | None) -> str:
    return f"more than {SHOWN_S:.0f} s" if delay is None else f"{delay:.1f} s"


def long_names(scale: float) -> Iterator[ReplayedRow]:
    """Finding 7: groups with names of 32,000 characters, which many series repeat."""
    names = max(1, round(NAMES * scale))
    with offsets_broker() as (kafka, _), observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        producer = writer(kafka.bootstrap_servers)
        for number in range(names):
            name = f"{number:03}".ljust(NAME_LENGTH, "x")
            key, value = generation(name, 1, time_ns() // 1_000_000, 1)
            producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
        producer.flush()
        watching.wait(lambda: watching.shown() == names, PATIENCE_S)
        attack, page = f"{names} names of {NAME_LENGTH:,} characters", watching.metrics()
        yield ReplayedRow(7, attack, "/metrics", "93.6 MB", f"{len(page.encode()) / 1e6:.2f} MB")
        yield ReplayedRow(7, attack, "observer, peak", "270 MiB", f"{watching.peak_mib():.0f} MiB")
