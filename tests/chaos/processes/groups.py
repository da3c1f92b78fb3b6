"""Groups of all types whose members join, leave and are killed continuously, and the records that they read."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from chaos.members.kinds import KINDS, TRIED, batches, group_name, librdkafkas
from chaos.processes.programs import ENVIRONMENT, MODULE
from chaos.verdict.account import Account
from support.members import member_lines
from support.observer.observing import PATIENCE_S

MEMBERS = 2, 3
"""Minimum and maximum number of members."""

KILLED = 0.3
"""Share of the members that are killed instead of leaving, if they are processes."""

PROGRAMS = {
    "share": "chaos.members.share_member",
    "streams": "chaos.members.streams_member",
    "transactions": "chaos.members.transactions_member",
}
"""Client -> its program; the other clients use `chaos.members.member`."""

OTHERS = {"java": member_lines.java_member, "go": member_lines.go_member}
"""Clients whose programs other tests use, too."""


def configure(bootstrap, group, settings):
    """Set ``settings`` of one group, before or after it exists."""
    entries = [ConfigEntry(*each, incremental_operation=AlterConfigOpType.SET) for each in settings.items()]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result()


class Member(member_lines.ProcessMember):
    """A member's program in a process; ``late``: its reports of late polls (epoch ms, microseconds)."""

    def __init__(self, config):
        self.late = []
        program = PROGRAMS.get(config["client"], "chaos.members.member")
        super().__init__([*MODULE, program, json.dumps(config)], ENVIRONMENT)

    def take_line(self, word, at_ms, *numbers):
        """Process a line of the member's output."""
        if word == "late":
            self.late.append((at_ms, numbers))
        else:
            super().take_line(word, at_ms, *numbers)


class Groups:
    """All groups. Members leave when the block ends."""

    def __init__(self, kafka, topic, events_url, seed, kinds=KINDS):
        self.kinds = kinds
        self.members = {kind.name: [] for kind in kinds}
        self.errors = []
        self.account = Account()
        self._kafka, self._topic, self._events_url = kafka, topic, events_url
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(batch, random.Random(f"{seed} {batch[0].name}")), daemon=True)
            for batch in batches(kinds)
        ]

    def __enter__(self):
        for kind in self.kinds:
            if kind.group:
                configure(self._kafka.bootstrap_servers, group_name(kind), kind.group)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end_members()

    def end_members(self):
        """Make all members leave."""
        self._stop.set()
        for thread in self._threads:
            thread.join(4 * PATIENCE_S)
            assert not thread.is_alive(), "a group cannot end its members"

    def late(self):
        """Return the members' reports about late polls, by group."""
        return {
            name: [late for each in self.members[name] for late in each.late] for name in TRIED if name in self.members
        }

    def _live(self, batch, chance):
        there, kind = {}, batch[0]
        with self._noted(kind):
            there[0] = self._join(batch, 0)
            while not self._stop.wait(chance.uniform(*kind.rest_s)):
                if len(there) < MEMBERS[0] or (len(there) < MEMBERS[1] and chance.random() < 1 / 2):
                    # A static member comes back under its name.
                    names = range(MEMBERS[1]) if kind.static else [len(self.members[kind.name])]
                    number = chance.choice([each for each in names if each not in there])
                    there[number] = self._join(batch, number)
                else:
                    self._leave(there.pop(chance.choice(sorted(there))), kill=chance.random() < KILLED)
        for members in there.values():
            with self._noted(kind):
                self._leave(members)

    @contextlib.contextmanager
    def _noted(self, kind):
        """Add exceptions of the block to ``errors``, which are shown at the end."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - as it says
            self.errors.append(f"{kind.name}: {error!r}")

    def _join(self, batch, number):
        """Start a new member in each of the groups; each time another group is the first."""
        first = number % len(batch)
        return [self._begin(kind, number) for kind in (*batch[first:], *batch[:first])]

    def _begin(self, kind, number):
        group, name = group_name(kind), f"{kind.name}-{number}"
        more = {"group.instance.id": name} if kind.static else {}
        bootstrap = self._bootstrap(number)
        config = {
            "client": kind.client,
            "bootstrap": bootstrap,
            "group": group,
            "topic": self._topic,
            "name": name,
            "settings": kind.settings,
            "events_url": self._events_url if kind.instrumented else "",
            "directory": str(self._kafka.directory),
        }
        if kind.process:
            begin = partial(Member, config)
        elif kind.client in OTHERS:
            begin = partial(OTHERS[kind.client], bootstrap, group, self._topic, name, **kind.settings)
        else:
            begin = partial(
                member_lines.LibrdkafkaMember, bootstrap, group, self._topic, name, **librdkafkas(kind), **more
            )
        member = self.account.start(kind, name, begin)
        self.members[kind.name].append(member)
        return member

    def _bootstrap(self, _number):
        """Return the address that the member with this number connects to."""
        return self._kafka.bootstrap_servers

    def _leave(self, members, *, kill=False):
        """Make members leave at the same time, each in its own thread: leaving takes a while."""
        with ThreadPoolExecutor(len(members)) as pool:
            for end in [pool.submit(self._end, each, kill=kill) for each in members]:
                end.result()

    def _end(self, member, *, kill):
        if kill and hasattr(member, "kill"):
            self.account.end(member, "kill", partial(_kill, member))
        else:
            self.account.end(member, "close", member.close)


def _kill(member):
    """Send SIGKILL. A process that had ended before did so by itself, which is an error."""
    code = member._process.poll()
    member.kill()
    assert code is None, f"a member had ended by itself with exit code {code}: {member.errors}"
