"""The changes of a group's members, drawn from a seed: starts, clean leaves, kills, zombies, kicks, deploys."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from judge.play.groups import MORE_PARTITIONS
from judge.play.member import Member

PARTITIONS_MAX, TOPICS_MAX = 14, 5
SLOW_S, ZOMBIE_MORE_S, WITHIN_S = (2.0, 4.5), (3.0, 8.0), (0.5, 2.5)
ROLLING_REST_S = (1.0, 4.0)
RACKS = ("a", "b", "c")


class Life:
    """One group in a thread of its own. The choices follow from the seed and the group's name."""

    def __init__(self, group, context):
        self.group, self._context = group, context
        self._chance = random.Random(f"{context.seed} {group.name}")
        self._members, self._count, self._topics, self._second = [], 0, 0, False
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.played, self.failed = {}, None

    @property
    def running(self):
        """The number of running members."""
        return sum(member.running for member in list(self._members))

    def begin(self):
        """Start the thread."""
        self._thread.start()

    def join(self):
        """Wait until the last change is over."""
        self._thread.join()

    def end(self):
        """Kill members, which cannot leave the group."""
        for member in self._members:
            if member.running:
                member.kill()

    # -- changes -----------------------------------------------------------------------------------------------

    def _live(self):
        try:
            self._changes()
        except Exception as error:  # noqa: BLE001 - the run ends with it
            self.failed = error

    def _changes(self):
        # Members of a new group start at different times.
        for _ in range(2):
            self._start()
            self._rest(0.2, 2.0)
        left = []
        while not self._rest(*self.group.rest_s):
            self._members = [each for each in self._members if each.running]
            if not left:  # each kind of change occurs, even in a short run
                left = self._chance.sample(self.group.changes, len(self.group.changes))
            change = left.pop()
            if change in ("leave", "kill", "zombie", "kick") and len(self._members) < 2:
                self._start()
            elif change == "start" and len(self._members) >= self.group.members:
                self._leave()
            elif getattr(self, f"_{change}")() is not False:
                self.played[change] = self.played.get(change, 0) + 1

    def _rest(self, shortest, longest):
        return self._context.over.wait(self._chance.uniform(shortest, longest))

    def _one(self):
        return self._chance.choice(self._members)

    def _start(self, name=None, **settings):
        if name is None and self.group.static:
            there = {each.name for each in self._members}
            slots = [f"{self.group.name}-s{slot}" for slot in range(self.group.members)]
            name = next((each for each in slots if each not in there), None)
            if name is None:
                return
        if name is None:
            self._count += 1
            name = f"{self.group.name}-{self._count}"
        instance = name if self.group.static else ""
        self._members.append(Member(self.group, name, self._context, instance, settings))
        if self._second:
            self._members[-1].send("subscribe", topics=self._both())

    def _leave(self, member=None):
        member = member or self._one()
        self._members.remove(member)
        member.close()

    def _kill(self):
        member = self._one()
        self._members.remove(member)
        member.kill()

    def _zombie(self):
        member = self._one()
        member.stop()
        self._context.over.wait(self.group.session_ms / 1000 + self._chance.uniform(*ZOMBIE_MORE_S))
        member.go_on()

    def _kick(self):
        self._one().send("busy", seconds=self.group.poll_ms / 1000 + self._chance.uniform(*ZOMBIE_MORE_S))

    def _slow(self):
        if not self._members:
            return self._start()
        self._one().send("slow", seconds=self._chance.uniform(*SLOW_S))
        if len(self._members) < self.group.members:
            return self._start()
        return self._leave()

    def _within(self):
        member = self._one()
        self._members.remove(member)
        member.kill() if self._chance.random() < 1 / 2 else member.close()
        self._rest(*WITHIN_S)
        self._start(member.name)

    def _rack(self):
        """Move a static member to another rack; it may be back within its session."""
        member = self._one()
        self._members.remove(member)
        member.close()
        self._rest(*WITHIN_S)
        self._start(member.name, **{"client.rack": self._chance.choice(RACKS)})

    def _after(self):
        member = self._one()
        self._members.remove(member)
        member.kill() if self._chance.random() < 1 / 2 else member.close()
        self._context.over.wait(self.group.session_ms / 1000 + self._chance.uniform(*ZOMBIE_MORE_S))
        self._start(member.name)

    def _rolling(self):
        self._context.acts.note("rolling", group=self.group.name)
        for member in list(self._members):
            self._leave(member)
            self._rest(*WITHIN_S)
            self._start(member.name if self.group.static else None)
            self._rest(*ROLLING_REST_S)
        self._context.acts.note("rolled", group=self.group.name)

    def _partitions(self):
        (topic,) = self.group.topics
        return self._context.add_partitions(self.group.name, topic, PARTITIONS_MAX)

    def _topic(self):
        if self._topics == TOPICS_MAX:
            return False
        self._topics += 1
        return self._context.add_topic(self.group.name, f"{self.group.name}-t-{self._topics}", MORE_PARTITIONS)

    def _both(self):
        return [*self.group.topics, f"{self.group.name}-u"] if self._second else self.group.topics

    def _subscribe(self):
        self._second = not self._second
        for member in list(self._members):
            member.send("subscribe", topics=self._both())
            self._rest(0.1, 0.6)


def begin_all(lives):
    """Start all groups."""
    for life in lives:
        life.begin()


def end_all(lives):
    """End all members at once."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda life: life.end(), lives))
