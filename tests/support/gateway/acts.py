"""A gateway's acts on seats, for tests."""

from __future__ import annotations

from collections import Counter


class RecordedActs:
    """Keeps the counts of one gateway's acts, in place of the product's `ActCounts`."""

    def __init__(self):
        self.counted = Counter()
        self.rebalances_spared, self.partition_seconds, self.waited_seconds = Counter(), Counter(), Counter()
        self.held = self.vacant = self.held_max = 0
        self.off, self.wrong, self.stall_seconds_spared = False, 0, 0.0

    def act(self, act, outcome, number=1):
        self.counted[str(act), str(outcome)] += number

    def spared(self, rebalances, *, predicted):
        self.rebalances_spared["observe" if predicted else "on"] += rebalances

    def kept(self, partition_seconds, *, predicted):
        self.partition_seconds["observe" if predicted else "on"] += partition_seconds

    def waited(self, seconds, *, predicted):
        self.waited_seconds["observe" if predicted else "on"] += seconds

    def stall_spared(self, partition_seconds):
        self.stall_seconds_spared += partition_seconds

    def seats(self, held, vacant, *, off, wrong):
        self.held, self.vacant, self.off, self.wrong = held, vacant, off, wrong
        self.held_max = max(self.held_max, held)

    def done(self, act):
        return self.counted[act, "done"]
