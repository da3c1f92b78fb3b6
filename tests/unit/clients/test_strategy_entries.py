from types import SimpleNamespace

import pytest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.clients.participant import settings_of
from rebalance_agent.clients.strategy_entries import entries, refuse_equal_names
from rebalance_agent.errors import AssignmentError

OWN = SimpleNamespace(name="own", assign=print)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("sticky", ["sticky"]),
        (STRATEGIES["range"], ["range"]),
        (OWN, ["own"]),
        (["sticky", STRATEGIES["range"], OWN], ["sticky", "range", "own"]),
        (("sticky",), ["sticky"]),
    ],
)
def test_a_single_entry_needs_no_list_and_names_become_strategies(wanted, names):
    assert [each.name for each in entries(wanted)] == names


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (None, "must be names, strategies or the client's own assignors, not None"),
        (3, "not 3"),
        ([], "at least one"),
        ([3], "3 is neither a name nor a strategy nor an assignor"),
        (["nope"], "there is no strategy 'nope'"),
    ],
)
def test_an_invalid_entry_is_named(wanted, problem):
    with pytest.raises(AssignmentError, match=problem):
        entries(wanted)


def test_two_entries_with_the_same_name_are_refused():
    with pytest.raises(AssignmentError, match="two entries are named 'sticky'"):
        refuse_equal_names(entries(["sticky", "range", "sticky"]))


def test_settings_must_map_names_to_values():
    with pytest.raises(AssignmentError, match="assignor_config: must map"):
        settings_of({}, [("a", 1)])
