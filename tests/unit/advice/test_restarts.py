"""The rebalances that static membership would have avoided, and its cost."""

from dataclasses import replace

from rebalance_agent.advice.replay.recorded_history import history_of
from rebalance_agent.advice.restarts import avoidable
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.subscription import MemberSubscription
from support.tracker.histories import START_MS, generation, snapshot


def member(name, assigned, *, client, instance=None, session_ms=45_000):
    wanted = MemberSubscription(name, ("t",), instance)
    made = snapshot(wanted, {"t": tuple(assigned)} if assigned else {}, client_id=client)
    return replace(made, session_timeout_ms=session_ms)


def at(number, seconds, *members, cause=Trigger.MEMBER_GONE):
    return generation(number, members, {"t": 4}, at_ms=START_MS + seconds * 1000, seconds=1.0, causes=(cause,))


def restart(away, **more):
    """Member b leaves at second 100 and returns after ``away`` seconds."""
    a, b = member("a-1", (0, 1), client="a"), member("b-1", (2, 3), client="b", **more)
    return history_of(
        [
            at(1, 0, a, b),
            at(2, 100, replace(a, assigned={"t": (0, 1, 2, 3)})),
            at(3, 100 + away, a, replace(b, member_id="b-2"), cause=Trigger.MEMBER_JOINED),
        ]
    )


def test_a_restart_within_the_session_timeout_causes_two_avoidable_rebalances():
    found = avoidable(restart(20))
    assert found.rebalances == {1, 2}
    (only,) = found.restarts
    assert (only.identity, only.client_id, only.left, only.back, only.away_seconds) == ("b-1", "b", 1, 2, 20.0)
    assert [found.waited(place, {"a-1": {"t": (0,)}, "b-1": {"t": (1, 2, 3)}}) for place in range(3)] == [0, 60.0, 0]


def test_a_restart_longer_than_the_session_timeout_is_not_avoidable():
    assert avoidable(restart(46)).restarts == ()
    assert avoidable(restart(20, session_ms=10_000)).restarts == ()


def test_static_members_have_no_avoidable_restarts():
    assert avoidable(restart(20, instance="i")).restarts == ()


def test_with_equal_client_ids_members_cannot_be_distinguished():
    a, b = member("a-1", (0, 1), client="rdkafka"), member("b-1", (2, 3), client="rdkafka")
    back = replace(b, member_id="b-2")
    history = history_of([at(1, 0, a, b), at(2, 100, a), at(3, 110, a, back, cause=Trigger.MEMBER_JOINED)])
    assert avoidable(history).restarts == ()


def test_a_quick_restart_may_cause_one_rebalance_only():
    a, b = member("a-1", (0, 1), client="a"), member("b-1", (2, 3), client="b")
    found = avoidable(history_of([at(1, 0, a, b), at(2, 100, a, replace(b, member_id="b-2"))]))
    assert found.rebalances == {1}
    assert found.restarts[0].away_seconds == 1.0  # at most as long as the rebalance


def test_a_rebalance_with_another_reason_is_not_avoided():
    a, b, new = (member(f"{name}-1", (), client=name) for name in ("a", "b", "new"))
    history = history_of([at(1, 0, a, b), at(2, 100, a, new), at(3, 110, a, new, replace(b, member_id="b-2"))])
    assert avoidable(history).rebalances == {2}
    changed = history_of([at(1, 0, a, b), at(2, 100, a, replace(b, member_id="b-2"), cause=Trigger.TOPICS_CHANGED)])
    assert not avoidable(changed).rebalances


def test_a_member_present_at_the_start_of_the_observer_is_no_restart():
    a = member("a-1", (0, 1, 2, 3), client="a")
    assert avoidable(history_of([at(7, 0, a), at(8, 100, a)])).restarts == ()
