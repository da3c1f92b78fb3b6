from rebalance_agent.model.generation_diff import diff_generations, owners
from rebalance_agent.model.member_changes import identity
from support.tracker.tracking import member, record


def group(*members, protocol="range"):
    return record(0, 1, *members, protocol=protocol).value


def names(members):
    return [each.member_id for each in members]


def test_without_a_generation_before_all_members_joined():
    diff = diff_generations(None, group(member("a", (0, 1))))
    assert names(diff.joined) == ["a"]
    assert diff.given == {("t", 0), ("t", 1)}
    assert (diff.taken, diff.moved, diff.noop) == (frozenset(), frozenset(), False)


def test_joins_leaves_and_moves():
    diff = diff_generations(
        group(member("a", (0, 1)), member("b", (2,))), group(member("a", (0,)), member("c", (1, 2)))
    )
    assert (names(diff.joined), names(diff.gone)) == (["c"], ["b"])
    assert diff.moved == diff.taken == diff.given == {("t", 1), ("t", 2)}


def test_partitions_only_assigned_or_only_revoked_have_not_moved():
    diff = diff_generations(group(member("a", (0, 1))), group(member("a", (1, 2))))
    assert (diff.taken, diff.given, diff.moved) == ({("t", 0)}, {("t", 2)}, frozenset())


def test_a_restarted_static_member_is_the_same_one():
    old, new = member("a-1", (0,), instance="A"), member("a-2", (0,), instance="A")
    diff = diff_generations(group(old), group(new))
    assert diff.replaced == ((old, new),)
    assert (diff.joined, diff.gone, diff.noop) == ((), (), True)
    assert identity(old) == identity(new) == "A"


def test_another_order_of_topics_is_no_new_subscription():
    diff = diff_generations(group(member("a", topics=("t", "u"))), group(member("a", topics=("u", "t"))))
    assert diff.resubscribed == ()
    assert diff_generations(group(member("a")), group(member("a", topics=("u",)))).resubscribed


def test_an_assignor_changes_only_between_two_known_ones():
    assert diff_generations(group(member("a")), group(member("a"), protocol="sticky")).assignor_changed
    assert not diff_generations(group(), group(member("a"))).assignor_changed
    assert not diff_generations(group(member("a")), group(member("a"))).assignor_changed


def test_members_without_partitions_are_no_noop():
    assert not diff_generations(group(member("a")), group(member("a"))).noop


def test_without_a_group_there_are_no_owners():
    assert owners(None) == {}
