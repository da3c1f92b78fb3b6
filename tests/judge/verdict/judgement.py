"""Judges a folder of evidence: facts, bounds, tightness, triggers, counters; and returns the exit code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from judge.evidence.broker_log import assigned, beginnings, cause_of, emptied, first_joins, removals
from judge.evidence.folder import Folder
from judge.evidence.history import histories
from judge.evidence.records import decode, of_groups
from judge.evidence.reported import kept, occupants, published
from judge.evidence.spans import stale_owners, unheard_owners
from judge.evidence.truth import contradicted, processes_of, true_spans
from judge.verdict import counters, tightness
from judge.verdict.bounds import judged
from judge.verdict.cases import case
from judge.verdict.episodes import episodes
from judge.verdict.facts import coverage, disagreements, triggers, unreported
from judge.verdict.late import read_late, unreadable
from judge.verdict.report import write

MEMBERSHIP = ("start", "close", "kill", "stop", "busy", "subscribe")
JOINED = "Adding new member"
OBSERVERS = ("kept", "lone")


class Truth:
    """The truth by group."""

    def __init__(self, folder):
        self.groups = folder.run["groups"]
        texts = [folder.text(f"broker-{number}.log") for number in (1, 2, 3)]
        self.log = beginnings(texts, folder.run["began"])
        first = first_joins(texts, folder.run["began"])
        seated = occupants(row for name in folder.run.get("observers", OBSERVERS) for row in folder.events(name))
        rows = of_groups(folder.rows("records.ndjson"), self.groups)
        self.history = histories(rows, folder.topics, decode, seated)
        empty, given = (read(texts, folder.run["began"]) for read in (emptied, assigned))
        self.processes, self.spans, removed = {}, {}, removals(texts, folder.run["began"])
        for name, history in self.history.items():
            for at_ms, number in empty.get(name, ()):
                history.add_empty(at_ms, number)
            for at_ms, number in given.get(name, ()):
                history.add_assigned(at_ms, number)
            history.type = self.groups[name]["type"]
            self.processes[name] = processes_of(folder, name, history.removed(removed.get(name, ())))
            joins = [at for at, _, reason in self.log.get(name, ()) if reason.startswith(JOINED)] + first.get(name, [])
            classic = history.type == "classic"
            self.spans[name] = true_spans(self.processes[name], history, joins, classic=classic)


def judge(path):
    """Judge a folder; print and write the report; return 1 if a bound or fact is wrong, else 0."""
    return write(Path(path), judgement(path))


def judgement(path):
    """Return the content of a report as a dictionary."""
    folder = Folder(path)
    truth = Truth(folder)
    found = {"seed": folder.run["seed"], "played": folder.text("played.json"), "observers": {}}
    found["wanted"] = folder.run.get("wanted", [])
    found["acts"] = dict(Counter(act["do"] for act in folder.acts))
    found["changes"] = sum(found["acts"].get(name, 0) for name in MEMBERSHIP)
    names = folder.run.get("observers", OBSERVERS)
    without_brokers = unreadable(folder)
    for name in names:
        found["observers"][name] = _observer(name, folder, truth, without_brokers)
    one, other = (kept(published(folder.events(name))) for name in (names[0], names[-1]))
    found["same id, another trigger"] = disagreements(one, other)
    found["truth"] = {
        "spans": sum(map(len, truth.spans.values())),
        "unsure": sum(span.unsure for spans in truth.spans.values() for span in spans),
        "contradicted": sum(len(contradicted(truth.spans[name], truth.processes[name])) for name in truth.spans),
    }
    return found


def _observer(name, folder, truth, without_brokers):
    events = kept(published(folder.events(name)))
    late = read_late(name, folder, without_brokers)
    judgements, cases, counts, not_first = [], [], Counter(), []
    facts = coverage(truth.history, events, late, without_brokers)
    for group, spans in truth.spans.items():
        reported = [each for each in events if each.group == group]
        without_event = unreported(facts, group, truth.history[group], reported)
        closed = episodes(reported, spans, folder.acts, group, without_event)
        static = truth.groups[group]["static"]
        for each in closed:
            state = truth.history[group].state_at(each.reported.at_ms)
            known = {span.partition for span in (*each.spans, *each.open)}
            processes = truth.processes[group]
            each.stale = state is not None and (
                stale_owners(processes, state)
                or unheard_owners(processes, truth.history[group], each.reported.at_ms, known)
            )
        slack_s = folder.run.get("slack_s", 0.0)
        for each in filter(None, (judged(each, static=static, slack_s=slack_s) for each in closed)):
            judgements.append(each)
            if each.wrong:
                cases.append(
                    case(each, name, truth.groups[group], truth.processes[group], truth.history[group],
                         folder.acts, truth.log.get(group, ()))
                )  # fmt: skip
        some, which = triggers(closed, truth.log.get(group, ()), cause_of)
        counts.update(some)
        not_first += which
    stalls = list(tightness.stalls(judgements, truth.groups))
    return {
        "facts": {key: value if isinstance(value, int) else list(value) for key, value in vars(facts).items()},
        "bounds": len([each for each in judgements if each.episode.reported.bounded and not each.unsure]),
        "unsure": sum(each.unsure for each in judgements),
        "false": dict(Counter(wrong for each in judgements for wrong in each.wrong)),
        "tightness": tightness.rows(stalls),
        "stalls": stalls,
        "trigger": {"counts": dict(counts), "not first": not_first},
        "partition-seconds": counters.compared(folder.text(f"{name}.metrics"), truth.spans),
        "cases": sorted(cases, key=lambda each: (each["wrong"], -each["off_s"])),
    }
