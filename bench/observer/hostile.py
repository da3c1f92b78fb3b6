"""Measures the effect of a hostile tenant on other groups: delays, memory, and rebalances that are not counted.

Each attack runs alone, and then all attacks run together. Beside them there are `GROUPS` ordinary groups, a group whose
records are timed, and a group of 2,000 members and 10,000 partitions that rebalances every 30 seconds. All of these
exist before the observer starts, and commit. The delay is the time until the API, requested every 0.1 s, shows the
record's generation. A process that only reads the topic is measured in the same run.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from time import monotonic, sleep, time_ns
from typing import NamedTuple

from bench.measure import percentile, table
from bench.observer.attack import ATTACKS, KNOWN_GROUPS, attacked
from bench.observer.observing import PATIENCE_S, Observer, observer
from bench.observer.start import compacted
from bench.observer.starved import GROUP, timed
from bench.synthetic import (
    OFFSETS_PARTITIONS,
    TOPIC,
    commit,
    enqueue,
    generation,
    group_key,
    group_value,
    partition_of,
    writer,
)
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.emit import COMMITS_EVERY_S
from rebalance_agent.tracking.memory.state_budget import COMMITTING_MS

__all__ = ["LARGE_MEMBERS", "LARGE_PARTITIONS", "Beside", "beside"]

GROUPS = 200
"""Number of ordinary groups, of 20 members each."""

SAMPLES = 120
"""Number of timed records during each attack."""

SETTLING_S = 3.0
SETTLED_S = 30.0
"""Maximum wait in seconds until the last rebalances are settled."""

LARGE, LARGE_EVERY_S = "large", 30.0
LARGE_MEMBERS, LARGE_PARTITIONS = 2_000, 10_000

_NAMED = re.compile(r'^rebalance_agent_group_over_budget\{consumergroup="([^"]{0,40})', re.MULTILINE)


class Beside(NamedTuple):
    """The effect of an attack on other groups.

    ``bare_ms``, ``shown_ms``: milliseconds from each timed record until the bare reader and until the API has it.
    ``missing``: number of the other groups' rebalances that the observer has not counted. ``large``: how many members
    and partitions of the large group the API shows. ``named``: names of the groups over their budget on /metrics, at
    most 40 characters of each.
    """

    bare_ms: Sequence[float]
    shown_ms: Sequence[float]
    peak_mib: float
    missing: int
    large: tuple[int, int]
    named: Sequence[str]


def main(scale: float = 1.0) -> None:
    """Print the table."""
    samples = max(5, round(SAMPLES * scale))
    rows = []
    for name in ("none", *ATTACKS, "all"):
        kinds = {"none": (), "all": tuple(ATTACKS)}.get(name, (name,))
        found = beside(kinds, samples, seed=1)
        bare, shown = percentile(found.bare_ms, 0.95), percentile(found.shown_ms, 0.95)
        rows.append((name, bare, shown, 2 * bare + 100, found.peak_mib, found.missing, ", ".join(found.named) or "-"))
        print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    table(("attack", "bare p95 ms", "shown p95 ms", "goal", "peak MiB", "others' missing", "named"), rows)


def beside(kinds: Sequence[str], samples: int, seed: int) -> Beside:
    """Run attacks of ``kinds`` until ``samples`` records of the timed group are shown."""
    now_ms = time_ns() // 1_000_000
    known = [generation(name, 0, now_ms) for name in (GROUP, *KNOWN_GROUPS)]
    known.append((group_key(LARGE), group_value(0, _members(), now_ms)))
    with compacted(GROUPS, known) as kafka, observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        _commit(kafka.bootstrap_servers, GROUP, LARGE, *KNOWN_GROUPS)
        with _large(kafka.bootstrap_servers) as written, attacked(kafka.bootstrap_servers, kinds, seed):
            sleep(SETTLING_S)
            bare, shown = timed(kafka.bootstrap_servers, watching, 0, samples, _generation)
            named = sorted(set(_NAMED.findall(watching.metrics())))
        watching.wait(lambda: watching.generation_of(LARGE) == written[-1], PATIENCE_S)
        large = watching.size_of(LARGE)
        expected, end = samples + len(written), monotonic() + SETTLED_S
        while (counted := _completed(watching, GROUP) + _completed(watching, LARGE)) < expected and monotonic() < end:
            sleep(1)
        return Beside(bare, shown, watching.peak_mib(), expected - counted, large, named)


def _commit(bootstrap: str, *groups: str) -> None:
    """Write commits of the groups that are `COMMITTING_MS` apart, as ordinary groups write them."""
    producer, now_ms = writer(bootstrap), time_ns() // 1_000_000
    for at_ms in (now_ms - COMMITTING_MS, now_ms):
        for group in groups:
            key, value = commit(group, "orders", 0, at_ms, at_ms)
            place = partition_of(group_key(group), OFFSETS_PARTITIONS)
            enqueue(producer, TOPIC, key=key, value=value, partition=place, timestamp=at_ms)
        producer.flush()
        sleep(5 * COMMITS_EVERY_S)  # the observer takes only the last of several commits


def _generation(connection: http.client.HTTPConnection) -> int | None:
    connection.request("GET", f"/api/v1/groups/{GROUP}")
    found = json.loads(connection.getresponse().read())
    number = found.get("summary", {}).get("generation")
    return None if number is None else int(number)


def _completed(watching: Observer, group: str) -> int:
    """Return the number of rebalances that the observer has counted."""
    counted = re.compile(rf'^kafka_rebalance_completed_total\{{consumergroup="{group}",[^}}]*\}} (\S+)$', re.MULTILINE)
    return sum(int(float(number)) for number in counted.findall(watching.metrics()))


@contextlib.contextmanager
def _large(bootstrap: str) -> Iterator[list[int]]:
    """Write a generation of the large group every `LARGE_EVERY_S`; yield the list of their numbers, which grows."""
    written: list[int] = []
    stop, producer, members = threading.Event(), writer(bootstrap, linger_ms=0), _members()

    def write() -> None:
        while not written or not stop.wait(LARGE_EVERY_S):
            written.append(len(written) + 1)
            key, value = group_key(LARGE), group_value(written[-1], members, time_ns() // 1_000_000)
            producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
            producer.flush()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield written
    finally:
        stop.set()
        writing.join()


def _members() -> list[tuple[str, bytes, bytes]]:
    subscription = encode_subscription(ConsumerSubscription(1, ("large",), None, {}, -1, None))
    return [(f"m{index}", subscription, _share(index)) for index in range(LARGE_MEMBERS)]


def _share(index: int) -> bytes:
    share = LARGE_PARTITIONS // LARGE_MEMBERS
    partitions = tuple(range(share * index, share * (index + 1)))
    return encode_assignment(ConsumerAssignment(1, {"large": partitions}, None))
