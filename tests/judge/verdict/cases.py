"""Describes a false bound with its context: event, truth, actions, members' lines, records and commits around it."""

from __future__ import annotations

from judge.evidence.process import FOREVER
from judge.verdict.bounds import EXACT, RECORD, UPPER

AROUND_MS = 1_500
LINES_MAX, COMMITS_MAX = 40, 3


def case(judgement, observer, group, processes, history, acts, log):
    """Return the case as a dictionary; times are seconds relative to the record that ends the episode."""
    episode, reported = judgement.episode, judgement.episode.reported
    span = episode.longest
    since = min(span.stop_first if span else reported.at_ms, reported.started_ms or reported.at_ms) - AROUND_MS
    until = max((each.until for each in episode.spans if each.until is not FOREVER), default=reported.at_ms) + AROUND_MS

    def at(ms):
        return None if ms is None or ms is FOREVER else round((ms - reported.at_ms) / 1000, 3)

    return {
        "observer": observer,
        "group": reported.group,
        "client": group["kind"],
        "number": reported.number,
        "change": episode.kind,
        "cause": cause_of_the_error(judgement),
        "wrong": list(judgement.wrong),
        "off_s": round(judgement.off_s, 3),
        "reported": {"lower_s": reported.lower_s, "upper_s": reported.upper_s, "exact": reported.exact,
                     "trigger": reported.trigger, "causes": reported.causes, "started": at(reported.started_ms),
                     "previous": reported.previous, "partition_seconds": reported.stalled_s,
                     "upper_partition_seconds": reported.stalled_upper_s, "event_id": reported.id},
        "real": {"least_s": round(episode.real_least_s, 3), "most_s": round(episode.real_most_s, 3),
                 "to_the_record_s": round(episode.to_the_record_s, 3), "spans": len(episode.spans),
                 "open": len(episode.open),
                 "partition_seconds": round(sum(each.longest_s for each in episode.spans), 3)},
        "record_ms": reported.at_ms,
        "longest": None if span is None else {
            "partition": span.partition, "reason": span.reason, "old": span.old, "new": span.new,
            "stopped": at(span.stop_first), "stopped_at_latest": at(span.stop_last), "given": at(span.given),
            "resumed": at(span.until)},
        "commits": None if span is None else _commits(span, history, at),
        "acts": [f"{at(act['at']):+.3f} {_words(act)}" for act in acts
                 if since <= act["at"] <= until and act.get("group") in (None, reported.group)],
        "lines": _lines(processes, since, until, at),
        "records": _records(history, since, until, at),
        "log": [f"{at(when):+.3f} from {generation}: {reason[:110]}" for when, generation, reason in log
                if since <= when <= until],
    }  # fmt: skip


def cause_of_the_error(judgement):
    """Return the rule of bounds that failed, as far as the truth shows it; reports are ordered by it."""
    episode, wrong = judgement.episode, judgement.wrong
    span = episode.longest
    if RECORD in wrong:
        return "the callback returned after the record that gave the partition"
    if not any(word in wrong for word in (UPPER, EXACT)):
        return ", ".join(wrong)
    if span.stop_last < episode.since:
        return "the stall began before the previous episode ended"
    if episode.kind == "brokers" and span.reason != "busy":
        return f"brokers were away ({span.reason})"
    reasons = {
        "busy": "the member processed a record for longer than its poll interval before it was expelled",
        "stopped": "the member was stopped (SIGSTOP) before it was expelled",
        "killed": "the member was killed",
        "closing": "the member closed",
        "new": "the partition is new",
        "empty": "the group had been Empty",
    }
    return reasons.get(span.reason, f"the owner's callback ({span.reason}) was before the reported start")


def _words(act):
    return " ".join(str(value) for name, value in act.items() if name not in ("at", "group"))


def _commits(span, history, at):
    times = history.commits.get(span.partition, [])
    return {
        "before the stop": [at(each) for each in times if each <= span.stop_last][-COMMITS_MAX:],
        "in between": [at(each) for each in times if span.stop_last < each <= span.until][:COMMITS_MAX],
        "after": [at(each) for each in times if each > span.until][:COMMITS_MAX],
    }


def _lines(processes, since, until, at):
    rows = []
    for process in processes:
        for line in process.lines:
            if since <= line["at"] <= until and line["what"] not in ("read", "commit"):
                given = line.get("partitions")
                shown = (
                    "" if given is None else f" {len(given)}: {' '.join(given[:4])}{' ...' if len(given) > 4 else ''}"
                )
                rows.append((line["at"], f"{process.name} {line['what']} {line.get('edge', '')}{shown}"))
    return [f"{at(when):+.3f} {text}" for when, text in sorted(rows)][:LINES_MAX]


def _records(history, since, until, at):
    return [
        f"{at(state.at_ms):+.3f} {state.number}: "
        + ", ".join(f"{owner} {len(names)}" for owner, names in sorted(state.owners.items()))
        for state in history.states
        if since <= state.at_ms <= until
    ][:LINES_MAX]
