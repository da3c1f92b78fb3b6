"""Decisions that a replay must repeat, those that it need not, and the text of a difference."""

from dataclasses import replace

from rebalance_agent.advice import Fidelity, fidelity, history_of
from rebalance_agent.advice.replay.fidelity import input_of
from rebalance_agent.advice.replay.implementations import ANY, LIBRARY, instrumented_generations, verdict
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.event_json import TEXT_MAX, value_from_json, value_to_json
from rebalance_agent.model.events import AssignEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.subscription import MemberSubscription
from support.assignors.walks import Walk
from support.tracker.histories import generation, snapshot, walked, without_hints

A, B = MemberSubscription("a", ("t",)), MemberSubscription("b", ("t",))


def event(number, *given, **fields):
    members = [snapshot(member, {"t": tuple(numbers)} if numbers else {}) for member, numbers in given]
    return generation(number, members, {"t": 4}, **fields)


def only(events):
    (line,) = fidelity(history_of(events)).lines
    return line


def test_a_decision_that_range_would_not_make_is_reported():
    right, wrong = event(1, (A, (0, 1)), (B, (2, 3))), event(2, (A, (0,)), (B, (1, 2, 3)))
    line = only([right, wrong])
    assert (line.implementation, line.checked, line.same_assignment, line.same_moves, line.same_skew) == (
        ANY,
        2,
        1,
        1,
        1,
    )
    assert line.difference == (
        "in generation 2, the replay gives other partitions to 2 members "
        "(partition counts: recorded 1, 3; replayed 2, 2)"
    )
    found = fidelity(history_of([right, wrong]))
    assert (found.moves, found.skew, found.checked, found.not_comparable) == (0.5, 0.5, 2, 0)


def test_an_empty_history_has_no_fidelity():
    assert fidelity(history_of([])).moves is None


def test_assignments_by_the_broker_are_not_replayed():
    line = only([event(1, (A, (0, 1, 2, 3)), group_type=GroupType.CONSUMER, assignor="uniform")])
    assert (line.implementation, line.checked, line.not_comparable) == ("the broker", 0, 1)
    assert "broker" in line.reason


def test_an_unknown_assignor_is_not_comparable():
    line = only([event(1, (A, (0, 1, 2, 3)), assignor="mine")])
    assert (line.not_comparable, line.reason) == (1, "its assignor is not a strategy of this library")


def test_a_result_with_the_longest_allowed_name_is_readable():
    found = fidelity(history_of([event(1, (A, (0, 1, 2, 3)), assignor="x" * TEXT_MAX)]))
    assert value_from_json(Fidelity, value_to_json(found)) == found


def test_range_with_racks_is_not_comparable_because_racks_are_not_recorded():
    racked = replace(event(1, (A, (0, 1, 2, 3))), members=(replace(snapshot(A, {"t": (0, 1, 2, 3)}), rack="r1"),))
    assert only([racked]).not_comparable == 1


def test_an_eager_member_with_owned_partitions_in_its_subscription_uses_this_library():
    events = walked(Walk(3, newest=True), STRATEGIES["sticky"], 4)
    hints = replace(events[-1].members[0], owned={"t": (0,)})
    ours = replace(events[-1], members=(hints,))
    assert verdict(ours) == (LIBRARY, None)
    assert verdict(without_hints(ours)).reason is not None


def test_the_implementation_is_unknown_if_the_event_does_not_contain_the_user_data():
    (last,) = walked(Walk(3, newest=True), STRATEGIES["sticky"], 4)[-1:]
    lacking = replace(last, members=(replace(last.members[0], user_data=None, user_data_bytes=60_000),))
    assert verdict(lacking).reason == "members' user data is longer than an event may contain"
    assert verdict(replace(lacking, assignor="range")).reason is None


def report(number, error=None):
    return AssignEvent(f"e{number}", "g", 1, "cooperative-sticky", "c", number, 0.1, 1, 1, "p", number, error=error)


def test_the_leaders_report_shows_which_librarys_cooperative_sticky_ran():
    events = walked(Walk(11, newest=True), STRATEGIES["cooperative-sticky"], 5)
    events = [
        replace(
            each,
            members=tuple(
                replace(one, user_data=STRATEGIES["cooperative-sticky"].user_data({}, {}, 1)) for one in each.members
            ),
        )
        for each in events
    ]
    assert {verdict(each).reason is None for each in events} == {False}
    reported = fidelity(history_of(events), instrumented_generations([report(each.generation) for each in events]))
    assert (reported.checked, reported.moves, reported.skew) == (
        len([each for each in events if each.members]),
        1.0,
        1.0,
    )
    failed = fidelity(
        history_of(events), instrumented_generations([report(each.generation, error="boom") for each in events])
    )
    assert failed.checked == 0


def test_results_of_parts_of_a_history_add_up():
    one, two = (only([event(number, (A, (0, 1)), (B, (2, 3)))]) for number in (1, 2))
    assert (one + two).checked == 2


def test_a_claim_has_the_age_of_the_generation_that_assigned_it():
    first, second = event(1, (A, (0, 1)), (B, (2, 3))), event(2, (A, (0,)), (B, (1, 2, 3)))
    owning = [replace(A, owned={"t": (0, 1)}), replace(B, owned={"t": (1, 2, 3)})]
    third = generation(3, [snapshot(each, {}) for each in owning], {"t": 4})
    assert [each.generation for each in input_of(third, [first, second]).members] == [1, 2]
    assert [each.generation for each in input_of(third, []).members] == [-1, -1]
