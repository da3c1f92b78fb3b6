import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.tracking.patterns.copartition import DECLARATIONS_MAX, Copartitioned, copartition_breaks
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.tracking import member, record, topics, watch


def members(**assigned):
    return [MemberLoad(name, None, name, "h", some) for name, some in assigned.items()]


def breaks(text, counts, **assigned):
    declaration = Copartitioned.parse(text).of("g")
    return copartition_breaks(declaration, counts, members(**assigned))


def test_equal_owners_of_equal_numbers_break_nothing():
    assert breaks("g", {"t": 2, "u": 2}, a={"t": (0,), "u": (0,)}, b={"t": (1,), "u": (1,)}) == 0


def test_every_number_with_different_owners_is_one_break():
    crossed = {"a": {"t": (0,), "u": (1,)}, "b": {"t": (1,), "u": (0,)}}
    assert breaks("g", {"t": 2, "u": 2}, **crossed) == 2
    assert breaks("g", {"t": 2, "u": 2, "v": 2}, **crossed) == 2


def test_a_number_with_an_owner_in_only_one_topic_is_a_break():
    assert breaks("g", {"t": 2, "u": 2}, a={"t": (0, 1), "u": (0,)}) == 1
    assert breaks("g", {"t": 2, "u": 2}, a={"t": (0,), "u": (0,)}) == 0


def test_topics_with_equal_partition_counts_are_one_set():
    counts = {"t": 2, "u": 2, "x": 1, "y": 1, "alone": 5}
    assert breaks("g", counts, a={"t": (0, 1), "u": (0,), "x": (0,)}, b={"u": (1,), "y": (0,), "alone": (0,)}) == 2


def test_only_declared_topics_count_and_must_have_equal_partition_counts():
    counts = {"t": 2, "u": 2, "v": 2, "w": 3}
    crossed = {"a": {"t": (0,), "u": (0,), "v": (1,)}, "b": {"t": (1,), "u": (1,), "v": (0,)}}
    assert breaks("g=t,u", counts, **crossed) == 0
    assert breaks("g=t,v", counts, **crossed) == 2
    assert breaks("g=t,w", counts, **crossed) == 3
    assert breaks("g=t,gone", counts, **crossed) == 0
    assert breaks("g=lost,gone", counts, **crossed) == 0


def test_the_same_several_owners_are_no_break():
    assert breaks("g", {"t": 1, "u": 1}, a={"t": (0,), "u": (0,)}, b={"t": (0,), "u": (0,)}) == 0
    assert breaks("g", {"t": 1, "u": 1}, a={"t": (0,), "u": (0,)}, b={"t": (0,)}) == 1


def test_declarations_are_read_from_lines_or_semicolons_and_the_first_that_matches_counts():
    declared = Copartitioned.parse("joins-.*; billing = refunds, payments\n (?=x)x.* ;; joins-a=t,u")
    assert [each.topics for each in declared.declarations] == [(), ("payments", "refunds"), (), ("t", "u")]
    assert declared.of("joins-a").topics == ()
    assert declared.of("billing").topics == ("payments", "refunds")
    assert declared.of("xyz").groups.pattern == "(?=x)x.*"
    assert declared.of("other") is None
    assert Copartitioned.parse(" ").of("g") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [("g(", "'g(' is not a regular expression"), ("g=t", "'g=t' names only one topic"), ("g;" * 101, "has 101 ")],
)
def test_wrong_declarations_are_refused(text, problem):
    assert DECLARATIONS_MAX == 100
    with pytest.raises(InvalidInputError) as refused:
        Copartitioned.parse(text)
    assert refused.value.problem.startswith(problem)


def test_a_view_has_breaks_only_for_declared_groups():
    crossed = (
        member("a", {"t": (0,), "u": (1,)}, topics=("t", "u")),
        member("b", {"t": (1,), "u": (0,)}, topics=("t", "u")),
    )
    reported = (topics(0, t=2, u=2), record(10, 1, *crossed), record(10, 1, *crossed, group="other"))
    tracker, _ = watch(*reported, copartitioned=Copartitioned.parse("g"))
    assert tracker.view("g").copartition_breaks == 2
    assert tracker.view("other").copartition_breaks is None
