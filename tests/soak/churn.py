"""Synthetic groups: their coordinator's records at a steady rate, as members join and leave, and groups appear and
disappear.

Names are reused, so that the number of groups in the cluster is constant.
"""

from __future__ import annotations

import math
import random
import threading

from bench.synthetic import (
    OFFSETS_PARTITIONS,
    PARTITIONS,
    TOPIC,
    commit,
    generation,
    name_of,
    partition_of,
    writer,
)

from rebalance_agent.clock import Clock

__all__ = ["Churn"]

STEP_S = 0.02
"""Seconds between two writes of due records."""

MEMBERS_MAX = 12
COMMITS = 10
"""Offset commits for each generation."""

GONE = 0.1
"""Share of rebalances that delete a group; its next one creates it again. So a group lives for minutes, and the data of
groups has its final distribution of ages when samples begin: otherwise hours of aging would look like growth."""


class Churn:
    """Writes ``rate`` rebalances a second, each of a random one of ``groups`` groups, in its own thread."""

    def __init__(self, bootstrap: str, groups: int, rate: float, seed: int, clock: Clock) -> None:
        """Write nothing before `start`."""
        self.rebalances = 0
        self._groups, self._rate, self._clock = groups, rate, clock
        self._chance = random.Random(seed)
        self._numbers = [_age(self._chance) for _ in range(groups)]
        self._producer = writer(bootstrap, linger_ms=20)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="churn", daemon=True)

    def populate(self) -> None:
        """Write a first generation of every group."""
        for group in range(self._groups):
            self._generation(group)
        self._producer.flush()

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop after everything is written."""
        self._stop.set()
        self._thread.join()
        self._producer.flush()

    def last(self) -> tuple[str, int]:
        """Write one more generation at the end, which shows that everything was read; return group and number."""
        self._generation(0)
        self._producer.flush()
        return name_of(0), self._numbers[0]

    def hurry(self, rebalances: int, rate: float) -> None:
        """Write this number of rebalances at ``rate`` per second, in the calling thread."""
        self._at(rate, rebalances)
        self._producer.flush()

    def _run(self) -> None:
        self._at(self._rate, None)

    def _at(self, rate: float, rebalances: int | None) -> None:
        begun, done = self._clock.monotonic(), 0
        while (rebalances is None or done < rebalances) and not self._stop.wait(STEP_S):
            due = int((self._clock.monotonic() - begun) * rate)
            for _ in range(due - done):
                self._rebalance(self._chance.randrange(self._groups))
            done = due

    def _rebalance(self, group: int) -> None:
        if self._numbers[group] and self._chance.random() < GONE:
            self.rebalances += 1
            self._numbers[group] = 0
            key, _ = generation(name_of(group), 0, self._clock.now_ms(), 0)
            self._produce(key, None)
        else:
            self._generation(group)

    def _generation(self, group: int) -> None:
        name, now_ms = name_of(group), self._clock.now_ms()
        self.rebalances += 1
        self._numbers[group] += 1
        self._produce(*generation(name, self._numbers[group], now_ms, self._chance.randint(1, MEMBERS_MAX)))
        for _ in range(COMMITS):
            self._produce(*commit(name, "orders", self._chance.randrange(PARTITIONS), self.rebalances, now_ms))

    def _produce(self, key: bytes, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)


def _age(chance: random.Random) -> int:
    """A random generation, as of a group that has existed for a long time.

    If all groups had the same age, their members' subscriptions, which contain the generation, would be equal bytes
    stored once, and memory would grow for hours while ages diverge.
    """
    return int(math.log(1 - chance.random()) / math.log(1 - GONE))
