"""A run with seats: the same changes with and without them, its own faults, and its ledger."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from chaos.faults.faults import inject
from chaos.faults.schedule import Fault
from chaos.members.kinds import SEATS_KINDS, group_name
from chaos.processes import seats_groups
from chaos.processes.seats_groups import FEWEST, FIRST, MOST, SeatsGroups
from chaos.verdict import seats
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent
from support.observer.fakes import generation_event

KIND = SEATS_KINDS[0]
GROUP = group_name(KIND)


class Waits:
    """The stop of a run, which comes after a number of waits; they take no time."""

    def __init__(self, number):
        self.seconds, self._number = [], number

    def wait(self, seconds):
        self.seconds.append(seconds)
        return len(self.seconds) > self._number

    def set(self):
        pass


def lived(monkeypatch, seed, waits=60):
    """The run's waits and actions on members, and the largest and smallest number of members after a change."""
    groups, done = SeatsGroups(SimpleNamespace(directory=""), ("one", "other"), "t", seed, (KIND,)), []
    stop = groups._stop = Waits(waits)

    def begin(_kind, number):
        member = SimpleNamespace(
            number=number,
            who={"group": GROUP, "process": str(number)},
            send=lambda signal: done.append((number, signal.name)),
        )
        groups.members[KIND.name].append(member)
        done.append((number, groups._bootstrap(number)))
        return member

    monkeypatch.setattr(groups, "_begin", begin)
    monkeypatch.setattr(seats_groups, "_connected", lambda _: True)

    def leave(members, *, kill=False):
        done.extend((member.number, "kill" if kill else "end") for member in members)

    monkeypatch.setattr(groups, "_leave", leave)
    groups._live((KIND,), random.Random(seed))
    assert groups.errors == []
    return stop.seconds, done, groups.account.acts


def test_changes_depend_on_the_seed_only(monkeypatch):
    assert lived(monkeypatch, 1)[:2] == lived(monkeypatch, 1)[:2]
    assert lived(monkeypatch, 1)[:2] != lived(monkeypatch, 2)[:2]


def test_every_change_happens_and_all_members_leave_in_the_end(monkeypatch):
    _, done, acts = lived(monkeypatch, 3, 400)
    assert {act["name"] for act in acts if act["do"] == "change"} == {
        "deploy",
        "restart",
        "kill",
        "pause",
        "scale up",
        "scale down",
    }
    ended = Counter(number for number, what in done if what in ("end", "kill"))
    assert ended == Counter({number for number, _ in done})
    assert [what for _, what in done[:FIRST]] == ["one", "other", "one"]


def test_a_group_keeps_its_size_within_limits(monkeypatch):
    there, sizes = 0, []
    for _, what in lived(monkeypatch, 4, 400)[1]:
        there += {"one": 1, "other": 1, "end": -1, "kill": -1}.get(what, 0)
        sizes.append(there)
    assert max(sizes) <= MOST + 1  # a successor beside its predecessor
    assert min(sizes[FIRST : -MOST - 1]) >= FEWEST - 1


class Gateway:
    def __init__(self, name, done):
        self.start = lambda: done.append((name, "start"))
        self.life = SimpleNamespace(**{each: lambda e=each: done.append((name, e)) for each in ("kill", "stop")})


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("gateway killed", [(2, "kill"), 1.5, (2, "start")]),
        ("gateway restarted", [(2, "stop"), 1.5, (2, "start")]),
        ("both gateways killed", [(1, "kill"), (2, "kill"), 1.5, (1, "start"), (2, "start")]),
    ],
)
def test_faults_of_gateways_end_with_a_new_process(name, wanted):
    done = []
    context = SimpleNamespace(gateways=[Gateway(1, done), Gateway(2, done)], wait=done.append)
    inject(context, Fault(0.0, name, 1.5, 1))
    assert done == wanted


def acted(number, outcome, revision=0):
    return SeatEvent(event_id=f"s{number}", group=GROUP, timestamp_ms=1, act=Act.HANDOVER, outcome=outcome,
                     member_id="m", process="p", sequence=number, revision=revision)  # fmt: skip


def judged(*events, on=True):
    groups = SimpleNamespace(kinds=[KIND], account=SimpleNamespace(acts=[]))
    return seats.ledger(groups, [json_line(each) for each in events], seats=on)


def test_the_ledger_counts_each_act_once_by_its_last_outcome():
    found = judged(acted(1, ActOutcome.DONE), acted(1, ActOutcome.RIGHT, 1), acted(2, ActOutcome.DONE))
    assert "acts: handover done 1, handover right 1" in found.what
    assert found.wrong == ()


def test_no_act_and_unexplained_generations_are_errors():
    assert judged().wrong == ("no gateway acted",)
    assert judged(on=False).wrong == ()
    unexplained = generation_event(group=GROUP, trigger=Trigger.UNKNOWN)
    assert judged(unexplained, on=False).wrong == (f"{GROUP}: 1 generations have no known trigger",)


def given_up(*more, ended_ms=30, reason="crashed", assigned_ms=10, seat=None):
    """The errors about the seat of c, which it took at 1 ms, and which was given up at 20 ms."""
    account = SimpleNamespace(acts=[{"do": "kill", "process": "c.1", "at": ended_ms}])
    member = SimpleNamespace(who={"process": "c.1"}, lines=[("assigned", assigned_ms, (0,))])
    groups = SimpleNamespace(account=account, members={KIND.name: [member]})
    gone = replace(acted(2, ActOutcome.DONE), act=Act.GIVE_UP, reason=reason, timestamp_ms=20)
    events = (seat or replace(acted(1, ActOutcome.DONE), client_id="c"), gone, *more)
    return seats.crashed(groups, [json_line(each) for each in events]).wrong


def test_a_seat_of_a_living_process_that_is_given_up_as_one_of_a_crashed_is_an_error():
    assert given_up() == (f"{GROUP}: the seat of c was given up at 20, and it lives",)
    assert given_up(ended_ms=5) == ()
    assert given_up(reason="rebalance") == ()


def another(at_ms):
    return replace(acted(3, ActOutcome.DONE), client_id="c", member_id="another", timestamp_ms=at_ms)


def test_a_process_that_joins_again_since_its_seat_was_given_up_is_an_error():
    assert len(given_up(another(40))) == 1
    assert given_up(another(15)) == (), "it had another seat already"


def test_a_process_that_never_had_the_answer_with_its_seat_did_not_use_it():
    assert given_up(another(40), assigned_ms=45) == ()


def test_partitions_that_a_process_got_with_an_earlier_seat_are_none_of_the_seat_given_up():
    """A KIP-848 client keeps its member id when it joins again."""
    earlier = replace(acted(4, ActOutcome.DONE), client_id="c", instance_id="earlier")
    assert given_up(earlier, seat=replace(acted(1, ActOutcome.DONE), client_id="c", timestamp_ms=15)) == ()


def test_the_consumer_of_a_seat_that_the_coordinator_names_is_found_in_its_generation():
    """Of KIP-848; there the event of the seat has no client id."""
    member = MemberSnapshot("m", None, "c", "/h", ("t",), {}, {})
    named = generation_event(group=GROUP, members=(member,), timestamp_ms=1)
    assert len(given_up(named, seat=acted(1, ActOutcome.DONE))) == 1
    assert given_up(seat=acted(1, ActOutcome.DONE)) == (), "nobody names it"


def test_more_duplicates_than_without_seats_are_an_error():
    read = [SimpleNamespace(read=Counter({(0, 0): 2, (0, 1): 1})), SimpleNamespace(read=Counter({(0, 1): 1}))]
    groups = SimpleNamespace(members={KIND.name: read})
    assert seats.duplicates(groups, [KIND], None).what == "read again: 2 records"
    assert seats.duplicates(groups, [KIND], 2).wrong == ()
    assert seats.duplicates(groups, [KIND], 1).wrong == ("2 records were read again, without seats 1",)


def test_a_record_that_is_copied_never_or_twice_is_an_error():
    assert seats.exactly_once({(0, 1)}, Counter({(0, 1): 1, (0, 2): 1})).wrong == ()
    assert seats.exactly_once({(0, 1)}, Counter()).wrong == ("1 records were never copied, such as [(0, 1)]",)
    (again,) = seats.exactly_once({(0, 1)}, Counter({(0, 1): 2})).wrong
    assert again == "1 records were copied more than once, such as [(0, 1)]"
