from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.tracking.patterns.costly_members import AWAITED_MAX, AwaitedMember, AwaitedMembers
from support.observer.demo_events import generation_event


def slow(number, client, seconds, *, host="/10.0.0.1"):
    return generation_event(
        number,
        slowest_client_id=client,
        slowest_host=host,
        slowest_lower_seconds=seconds,
    )


def kept(*events):
    members = AwaitedMembers()
    for event in events:
        members.add(event)
    return members.shown


def test_the_slowest_members_of_earlier_rebalances_are_kept():
    assert kept(slow(1, "b", 10.6), slow(2, "a", 0.4)) == (
        AwaitedMember("a", "10.0.0.1", 0.4, 2_000),
        AwaitedMember("b", "10.0.0.1", 10.6, 1_000),
    )


def test_a_member_has_the_wait_of_its_last_rebalance_only():
    assert [each.seconds for each in kept(slow(1, "b", 10.6), slow(2, "b", 0.4))] == [0.4]
    assert len(kept(slow(1, "b", 10.6), slow(2, "b", 0.4, host="/10.0.0.2"))) == 2


def test_a_revision_replaces_the_wait_of_its_rebalance():
    assert [each.client_id for each in kept(slow(1, None, None), slow(2, "a", 1.0), slow(1, "b", 9.0))] == ["a", "b"]
    assert kept(slow(1, "b", 9.0), slow(1, None, None)) == ()
    assert kept(slow(1, "b", None)) == (), "the lower bound of the others' wait is unknown"


@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(1, 99)), min_size=1, max_size=30))
def test_the_list_is_bounded_to_the_last_and_the_longest_waits(found: Sequence[tuple[str, int]]):
    shown = kept(*(slow(number, client, seconds) for number, (client, seconds) in enumerate(found)))
    assert shown[0][::2] == (found[-1][0], found[-1][1])
    assert len(shown) == min(AWAITED_MAX, len({client for client, _ in found}))
    assert len({each.client_id for each in shown}) == len(shown)
    assert [each.at_ms for each in shown] == sorted((each.at_ms for each in shown), reverse=True)
    last = {client: number for number, (client, _) in enumerate(found)}
    first = {client: number for number, (client, _) in reversed(list(enumerate(found)))}
    once = [found[number] for client, number in last.items() if number == first[client]]
    worst = max(once, key=lambda each: each[1], default=None)
    if worst and all(seconds < worst[1] for client, seconds in found if client != worst[0]):
        assert worst in [(each.client_id, each.seconds) for each in shown]
