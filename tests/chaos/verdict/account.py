"""Writes the members' callbacks and the run's actions on them in the form that `tests/judge` reads.

The ledger compares events with records. Records show little about the length of stalls, so the callbacks of all
members, with their times, are the truth that every bound of every event has to contain.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import Counter
from shutil import copyfile

from confluent_kafka.admin import AdminClient

from chaos.members.kinds import group_name
from chaos.verdict.verdict import Verdict
from judge.play.topic_ids import topic_ids
from judge.verdict.judgement import judgement
from rebalance_agent.clock import SystemClock
from support.observer.observing import everything

OBSERVER = "observer"
SLACK_S = 1.0
"""Seconds between a callback and the record of it: processes may not be scheduled for that long here."""

COMMIT_MS, SESSION_MS = 1_000, 6_000
CLOCK, CLOCK_MS = "clock set", 60_000
"""Longest time before and after a wrong clock in which an observer cannot date the start of a polled rebalance."""

SHOWN = 3


class Account:
    """The actions on members (``acts``, in order) and the members."""

    def __init__(self):
        self.acts, self._members = [], []
        self._counts, self._lock, self._clock = Counter(), threading.Lock(), SystemClock()

    def start(self, kind, name, begin):
        """Start a member by calling ``begin``, and record it."""
        with self._lock:
            self._counts[name] += 1
            process = f"{name}.{self._counts[name]}"
        who = {"group": group_name(kind), "process": process}
        self.note("start", **who)
        member = begin()
        member.who = who
        self._members.append(member)
        return member

    def note(self, do, **more):
        """Record an action just before it is done."""
        self.acts.append({"at": self._clock.now_ms(), "do": do, **more})

    def end(self, member, do, how):
        """End a member by calling ``how``, and record it as a ``kill`` or a ``close``."""
        self.note(do, **getattr(member, "who", {}))
        how()
        self.note("ended", **getattr(member, "who", {}))

    def lines(self, topic):
        """Return the lines of each process, by (group, process)."""
        ends = {}
        for act in self.acts:
            if "process" in act and act["do"] in ("close", "ended"):
                ends.setdefault((act["group"], act["process"]), {}).setdefault(act["do"], act["at"])
        return {
            tuple(member.who.values()): _lines(member.lines, topic, ends.get(tuple(member.who.values()), {}))
            for member in self._members
        }


def _lines(lines, topic, ends):
    """Return a member's lines. A callback takes no time here: it only prints its line."""
    closed = {"close": "closing", "ended": "closed"} if "close" in ends else {}
    found = [{"at": ends[do], "what": what} for do, what in closed.items() if do in ends]
    for word, at_ms, numbers in lines:
        if word == "read":
            name = f"{topic}-{numbers[0]}"
            found.append({"at": at_ms, "what": word, "first": {name: at_ms}, "last": {name: at_ms}})
        else:
            names = [f"{topic}-{number}" for number in sorted(numbers)]
            found += [{"at": at_ms, "what": word, "edge": edge, "partitions": names} for edge in ("enter", "exit")]
    return sorted(found, key=lambda line: line["at"])


def write(account, kafka, kinds, topic, published, folder):
    """Write the evidence in the layout of a run of the judge. ``published``: the values of the events' topic."""
    (folder / "members").mkdir(parents=True)
    groups = {group_name(kind): _settings(kind) for kind in kinds if kind.client != "share"}  # it has no callbacks
    began = min((act["at"] for act in account.acts), default=0)
    run = {"seed": 0, "began": began, "groups": groups, "observers": [OBSERVER], "slack_s": SLACK_S}
    (folder / "run.json").write_text(json.dumps(run))
    names = topic_ids(AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}))
    # A streams group's only task is to read this topic.
    (folder / "topics.json").write_text(json.dumps({**names, "task:0": topic}))
    _write(folder / "acts.ndjson", account.acts)
    for (group, process), rows in account.lines(topic).items():
        _write(folder / "members" / f"{group}~{process}.ndjson", rows)
    _write(folder / f"events-{OBSERVER}.ndjson", ({"key": None, "value": _text(value)} for value in published))
    write_records(kafka.bootstrap_servers, folder / "records.ndjson")
    for number, path in kafka.logs.items():
        copyfile(path, folder / f"broker-{number}.log")


def write_records(bootstrap, path):
    """Write the records of the offsets topic."""
    _write(
        path,
        (
            {
                "partition": each.partition(),
                "offset": each.offset(),
                "timestamp": each.timestamp()[1],
                "key": _text(each.key()),
                "value": _text(each.value()),
            }
            for each in everything(bootstrap, "__consumer_offsets")
        ),
    )


def judged(folder):
    """Return the judge's verdict on the bounds, from the evidence in a folder."""
    found = judgement(folder)
    observer = found["observers"][OBSERVER]
    wrong = [case for case in observer["cases"] if not _beside_wrong_clock(case, folder)]
    what = (
        f"members' account: {observer['bounds']} bounds were judged, {len(wrong)} are false; members do not say enough "
        f"of {observer['unsure']}; {len(observer['cases']) - len(wrong)} false ones lie beside a wrong clock"
    )
    lines = [_words(case) for case in wrong[:SHOWN]]
    if wrong:
        lines.append(f"{len(wrong)} bounds are false; more of them: python tests/judge --again {folder}")
    if not observer["bounds"]:
        lines.append("no bound was judged: members reported nothing")
    return Verdict(what, tuple(lines))


def _words(case):
    reported, real = case["reported"], case["real"]
    return (
        f"{case['group']} {case['number']}: {', '.join(case['wrong'])}: "
        f"reported {reported['lower_s']} to {reported['upper_s']} s, "
        f"members measured {real['least_s']} to {real['most_s']} s"
    )


def _beside_wrong_clock(case, folder):
    began = None
    for line in (folder / "acts.ndjson").read_text().splitlines():
        act = json.loads(line)
        if act.get("name", "").startswith(CLOCK):
            if act["do"] == "fault":
                began = act["at"]
            elif began - CLOCK_MS <= case["record_ms"] <= act["at"] + CLOCK_MS:
                return True
    return False


def _settings(kind):
    types = {"streams": "streams"}
    return {
        "kind": kind.name,
        "type": types.get(kind.client, kind.settings.get("group.protocol", "classic")),
        "commit_ms": COMMIT_MS,
        "session_ms": SESSION_MS,
        "static": kind.static,
    }


def _write(path, rows):
    with path.open("w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def _text(value):
    return None if value is None else base64.b64encode(value).decode()
