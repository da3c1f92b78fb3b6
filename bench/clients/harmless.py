"""Measures the cost of instrumentation for a consumer: the same program bare and instrumented, in turn.

Each round runs every variant once, in a random order, each in its own process (`harmless_member`). The process goes
through rebalances, as another member joins and leaves, and then reads a topic while its events are still being sent.
The bare program runs twice in each round; the difference between the two runs is the noise. The exit code is 1 if an
instrumented program certainly costs more than the noise and more than the accepted bound (`harmless_verdict`).
"""

from __future__ import annotations

import contextlib
import random
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.clients.harmless_clients import BATCH, CLIENTS
from bench.clients.harmless_sidecars import failing, hanging, url, working
from bench.clients.harmless_verdict import MORE, SAME, UNKNOWN, Finding, Measure, interval, judged
from bench.measure import in_process, table
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.broker_settings import free_ports

PARTITIONS = 12
RECORDS: Mapping[str, int] = {"kafka-python": 10_000, "confluent-kafka": 40_000, "aiokafka": 40_000}
"""Number of records in each client's topic. One read of the topic takes about a quarter of a second."""

RECORD_BYTES = 100
READS = 3
"""Number of times that a process reads the topic, each time after two rebalances. The figure is the median."""

ROUNDS = 11
"""Number of rounds. With eleven values, the median lies between the second and the tenth with 98.8 % confidence."""

BARE, AGAIN = "bare", "bare, again"

REBALANCE_MS: Final = 10.0
"""Accepted milliseconds per rebalance. The event of the first callback is sent while the application waits for the
second callback. Members detect a rebalance within a heartbeat interval, 3 s by default: in comparison, 10 ms are
little."""

MEMORY_MIB: Final = 12.0
"""Accepted MiB: the package and its imports take about 6 MiB, and up to 4 MiB of events wait for a sidecar."""

NEGLIGIBLE: Final = 10.0
"""Accepted percent of the cost of reading records without processing them, a fraction of a real program's work."""

MEASURES = (
    Measure("poll_p50_us", "poll p50 us", NEGLIGIBLE),
    Measure("poll_p99_us", "poll p99 us", NEGLIGIBLE),
    Measure("record_us", "us / record", NEGLIGIBLE),
    Measure("record_cpu_us", "CPU us / record", NEGLIGIBLE),
    Measure("rebalance_ms", "rebalance ms", REBALANCE_MS, "ms"),
    Measure("memory_mib", "memory MiB", MEMORY_MIB, "MiB"),
)

Found = Mapping[str, Sequence[Mapping[str, float]]]
"""Variant -> its figures, one mapping for each round."""


def main(scale: float = 1.0) -> None:
    """Print two tables and their verdicts for each client; SystemExit if an instrumented one certainly costs more."""
    rounds = max(2, min(ROUNDS, round(ROUNDS * scale * 10)))
    findings: dict[str, list[Finding]] = {}
    with EmbeddedKafka(properties={"group.min.session.timeout.ms": "1000"}) as kafka, contextlib.ExitStack() as stack:
        variants = {
            BARE: None,
            AGAIN: None,
            "instrumented, sidecar OK": stack.enter_context(working(kafka.bootstrap_servers)),
            "instrumented, no sidecar": url(free_ports(1)[0]),
            "instrumented, sidecar hangs": stack.enter_context(hanging()),
            "instrumented, sidecar answers 500": stack.enter_context(failing()),
        }
        for client in CLIENTS:
            records = max(1_000, round(RECORDS[client] * scale))
            _filled(kafka.bootstrap_servers, client, records)
            print(
                f"\n### {client}: {rounds} rounds of {READS} x (2 rebalances, {records:,} records read)\n", flush=True
            )
            found = compared(client, kafka.bootstrap_servers, variants, rounds, records)
            findings[client] = judged(found, MEASURES, BARE, AGAIN)
            shown(found)
            print_verdicts(findings[client])
    settled(findings)


def compared(client: str, bootstrap: str, variants: Mapping[str, str | None], rounds: int, records: int) -> Found:
    """Run each variant once per round, each time in its own group; SystemExit names a variant that failed."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for number in range(rounds):
        order = list(variants)
        random.Random(number).shuffle(order)
        for name in order:
            group = f"{client}-{number}-{order.index(name)}"
            given = (client, bootstrap, client, group, str(records), str(READS), variants[name] or "")
            try:
                found[name].append(in_process("bench.clients.harmless_member", *given))
            except SystemExit as failed:
                raise SystemExit(f"{client}, {name}, round {number + 1}: {failed}") from None
    return found


def shown(found: Found) -> None:
    """Print a table of the medians, and a table of the increases over the bare program of the same round."""
    values = {name: {each: [row[each.key] for row in rows] for each in MEASURES} for name, rows in found.items()}
    table(
        ("median", *(each.title for each in MEASURES)),
        [(name, *(_figure(statistics.median(of[each])) for each in MEASURES)) for name, of in values.items()],
    )
    bare = values.pop(BARE)
    sure = interval(bare[MEASURES[0]]).sure
    print()
    table(
        (f"more than bare (where it lies with {sure:.1%})", *(f"{each.title}: {each.unit}" for each in MEASURES)),
        [(name, *(str(interval(each.more(of[each], bare[each]))) for each in MEASURES)) for name, of in values.items()],
    )


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1_000 else f"{value:,.0f}"


def print_verdicts(findings: Sequence[Finding]) -> None:
    """Print the number of figures by verdict, and each figure that differs from bare ones or may exceed its bound."""
    count = Counter(each.verdict for each in findings)
    bounds = ", ".join(f"{each.title} {each.bound:g} {each.unit}" for each in MEASURES)
    print(f"\n{count[SAME]} of {len(findings)} figures are certainly within their bounds ({bounds}),")
    print(f"{count[MORE]} are certainly above, and {count[UNKNOWN]} are undecided.", flush=True)
    for each in findings:
        if each.enough and (each.seen or each.verdict != SAME):
            print(f"- {_verdict_text(each)}", flush=True)


def settled(findings: Mapping[str, Sequence[Finding]]) -> None:
    """Raise SystemExit with the figures in which instrumented consumers certainly cost more."""
    worse = [
        f"{client}, {_verdict_text(each)}" for client, of in findings.items() for each in of if each.verdict == MORE
    ]
    if worse:
        raise SystemExit("\nInstrumented consumers certainly take more:\n" + "\n".join(worse))


def _verdict_text(finding: Finding) -> str:
    difference = "differs from bare ones" if finding.seen else "does not differ visibly from bare ones"
    bounds = {SAME: "within its bound", MORE: "above its bound", UNKNOWN: "perhaps above its bound"}
    amounts = f"{finding.more} {finding.measure.unit} more, bare ones {finding.noise}"
    return f"{finding.measure.title}, {finding.variant}: {amounts}; {difference}; {bounds[finding.verdict]}"


def _filled(bootstrap: str, topic: str, records: int) -> None:
    """Fill the topic, one partition after the other, in batches of equal size, so that no fetch waits for more data."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    config = {"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.num.messages": BATCH, "log_level": 0}
    producer, chance = Producer(config), random.Random(1)
    for number in range(records):
        producer.produce(topic, chance.randbytes(RECORD_BYTES), partition=number * PARTITIONS // records)
        producer.poll(0)
    producer.flush()
