"""Groups of all types play, and those that are compared are treated alike."""

from __future__ import annotations

from chaos.crowd import PROGRAMS
from chaos.kinds import KINDS, group_name, troops
from chaos.latency import INSTRUMENTED, TRIED
from chaos.member import CLIENTS
from rebalance_agent.groupprotocol.placement import offsets_partition
from rebalance_agent.testing.settings import OFFSETS_PARTITIONS


def test_those_that_are_compared_come_and_go_together_and_differ_in_nothing_but_our_instrumentation():
    together, *others = troops(KINDS)
    assert tuple(each.name for each in together) == TRIED
    assert all(len(each) == 1 for each in others)
    assert {each.name for troop in (together, *others) for each in troop} == {each.name for each in KINDS}
    assert {(each.client, str(each.settings), each.rest_s, each.static, each.process) for each in together} == {
        (together[0].client, str(together[0].settings), together[0].rest_s, False, True)
    }
    assert [each.name for each in together if each.instrumented] == [INSTRUMENTED]


def test_those_that_are_compared_have_one_coordinator():
    groups = [group_name(each) for each in KINDS if each.name in TRIED]
    assert len({offsets_partition(each, OFFSETS_PARTITIONS) for each in groups}) == 1


def test_every_program_of_ours_has_a_process_and_is_of_somebody_who_plays():
    assert {each.client for each in KINDS if each.process} == {*CLIENTS, *PROGRAMS}


def test_who_is_left_out_is_in_no_troop():
    assert [each.name for troop in troops(KINDS[:2]) for each in troop] == [KINDS[1].name, KINDS[0].name]
