"""Runs the faults in threads until the run is over."""

from __future__ import annotations

import random
import threading
from collections import Counter

from confluent_kafka import KafkaException

from judge.play.schedule import REST_S, enough, lanes, rounds
from rebalance_agent.testing import BrokerError


class Faults:
    """One thread for each lane; ``played`` counts the faults."""

    def __init__(self, context, inflict, only=None):
        """``inflict`` carries out a fault by name, with random choices, and undoes it."""
        self._context, self._inflict, self.played = context, inflict, Counter()
        self.lanes = lanes(only)
        self._threads = [threading.Thread(target=self.play, args=(lane,), daemon=True) for lane in self.lanes]

    def begin(self):
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def join(self):
        """Wait until the last faults are over."""
        for thread in self._threads:
            thread.join()

    def few(self, minutes):
        """Whether some fault was played less often than a run of this length needs."""
        return any(self.played[name] < enough(minutes) for lane in self.lanes for name in lane)

    def play(self, lane):
        """Play a lane until the run is over."""
        chance = random.Random(f"{self._context.seed} {lane[0]}")
        for name in rounds(lane, chance):
            if self._context.over.wait(chance.uniform(*REST_S)):
                return
            print(f"  fault: {name}", flush=True)
            self._context.acts.note("fault", name=name)
            try:
                self._inflict(name, chance)
                self.played[name] += 1
            except (BrokerError, KafkaException, OSError, TimeoutError) as error:
                self._context.acts.note("refused", name=name, error=str(error))
            self._context.acts.note("fault over", name=name)
