"""The log of a member, a file with one JSON line per fact, and the commands that the member receives.

A line has ``at`` (epoch milliseconds), ``what`` and, if it is about partitions, ``partitions`` (``topic-number``):

``subscribed``, ``assigned`` / ``revoked`` / ``lost`` with ``edge`` ``enter`` or ``exit`` (the callbacks), ``busy`` and
``idle`` (the loop stops in the processing of a record, and continues), ``read`` with ``first`` and ``last`` (when
records of each partition were processed, every `READ_EVERY_MS`), ``commit``, ``closing`` and ``closed``.

This module imports nothing of the project, so that the account is independent of the judged code.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time

READ_EVERY_MS = 250
POLL_S = 0.1
LEAVING_S = 60.0
"""Longest time for leaving; then the process ends, since its brokers may be gone permanently."""


def now_ms():
    """Return epoch milliseconds, with their fraction."""
    return time.time_ns() / 1_000_000  # noqa: TID251 - the project's clock is part of what is judged


def python_settings(config):
    """Return keyword arguments for a consumer of kafka-python or aiokafka, which have the same names."""
    static = {"group_instance_id": config["instance"]} if config["instance"] else {}
    return {
        "bootstrap_servers": config["bootstrap"],
        "group_id": config["group"],
        "client_id": config["name"],
        "auto_offset_reset": "latest",
        "auto_commit_interval_ms": config["commit_ms"],
        "metadata_max_age_ms": 3_000,
        **static,
        **config["settings"],
    }


class Account:
    """The lines of one member. Each is one write, so none is lost when the process is killed."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._read, self._said_ms = {}, 0.0
        self.slow_s = 0.0

    def say(self, what, **more):
        """Write one line at once."""
        line = {"at": round(now_ms(), 1), "what": what, **more}
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def enter(self, what, partitions):
        """Record that a callback began; return how long it has to take (seconds)."""
        self.say(what, edge="enter", partitions=sorted(partitions))
        slow_s = self.slow_s if what == "revoked" and partitions else 0.0
        if slow_s:
            self.slow_s = 0.0
        return slow_s

    def exit(self, what, partitions):
        """Record that the callback returns."""
        self.say(what, edge="exit", partitions=sorted(partitions))

    def callback(self, what, partitions):
        """Run a whole callback, for clients with threads."""
        if slow_s := self.enter(what, partitions):
            threading.Event().wait(slow_s)
        self.exit(what, partitions)

    def processed(self, partitions):
        """Record that records of these partitions were processed just now."""
        at = round(now_ms(), 1)
        for name in partitions:
            self._read.setdefault(name, [at, at])[1] = at
        if self._read and at - self._said_ms > READ_EVERY_MS:
            self.flush(at)

    def flush(self, at=None):
        """Write a line about the records processed since the last one."""
        if self._read:
            self.say(
                "read", first={k: v[0] for k, v in self._read.items()}, last={k: v[1] for k, v in self._read.items()}
            )
        self._read, self._said_ms = {}, at or now_ms()


class Commands:
    """The run's commands on standard input, a JSON object per line; the process exits when the input ends."""

    def __init__(self):
        self._queue = queue.Queue()
        self.closing = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "close":
                self.closing.set()
                threading.Thread(target=_give_up, daemon=True).start()
            else:
                self._queue.put(command)
        os._exit(1)

    def pending(self):
        """Return the next command, or None."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None


def _give_up():
    threading.Event().wait(LEAVING_S)
    os._exit(2)


def live(client, account, commands):
    """Run the loop of a member. A client has ``subscribe(topics)``, ``poll()``, ``wait(seconds)`` and ``close()``."""
    while not commands.closing.is_set():
        command = commands.pending()
        if command is None:
            account.processed(client.poll())
        elif command["do"] == "busy":
            account.flush()
            account.say("busy")
            client.wait(command["seconds"])
            account.say("idle")
        elif command["do"] == "slow":
            account.slow_s = command["seconds"]
        elif command["do"] == "subscribe":
            account.say("subscribed", topics=command["topics"])
            client.subscribe(command["topics"])
    account.flush()
    account.say("closing")
    client.close()
    account.say("closed")


def start():
    """Return the configuration of this process, its account and its commands."""
    config = json.loads(sys.argv[1])
    return config, Account(config["file"]), Commands()
