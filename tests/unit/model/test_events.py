from __future__ import annotations

from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id, process_event_id

CLASSIC = GroupType.CLASSIC


def test_the_same_fact_has_the_same_id_from_every_observer():
    assert event_id("generation", "c", "g", CLASSIC, 3, 1000) == event_id("generation", "c", "g", CLASSIC, 3, 1000)
    assert process_event_id("member", "p", 7) == process_event_id("member", "p", 7)


def test_a_group_deleted_and_created_again_gets_new_ids():
    assert event_id("generation", "c", "g", CLASSIC, 1, 1000) != event_id("generation", "c", "g", CLASSIC, 1, 2000)


def test_a_static_members_return_within_one_generation_gets_a_new_id():
    assert event_id("generation", "c", "g", CLASSIC, 3, 1000) != event_id("generation", "c", "g", CLASSIC, 3, 1500)


def test_the_parts_of_a_split_event_have_ids_of_their_own():
    ids = {event_id("generation", "c", "g", CLASSIC, 3, 1000, part=part) for part in range(5)}
    assert len(ids) == 5


def test_concatenated_names_do_not_collide():
    assert event_id("generation", "ab", "c", CLASSIC, 1, 1) != event_id("generation", "a", "bc", CLASSIC, 1, 1)


def test_every_ingredient_counts():
    base = event_id("generation", "c", "g", CLASSIC, 1, 1)
    others = {
        event_id("aborted", "c", "g", CLASSIC, 1, 1),
        event_id("generation", "d", "g", CLASSIC, 1, 1),
        event_id("generation", "c", "h", CLASSIC, 1, 1),
        event_id("generation", "c", "g", GroupType.CONSUMER, 1, 1),
        event_id("generation", "c", "g", CLASSIC, 2, 1),
        event_id("generation", "c", "g", CLASSIC, 1, 1, member_id="m"),
    }
    assert len(others) == 6
    assert base not in others
