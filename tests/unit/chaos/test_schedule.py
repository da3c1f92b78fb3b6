"""The schedule of faults follows from the seed and contains every fault."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from chaos.faults.faults import INJECTED
from chaos.faults.schedule import FAULTS, QUIET_S, SEATS_FAULTS, STREAM, Fault, faults_of, happened, schedule


def test_the_schedule_depends_on_the_seed_only():
    assert schedule(7, 10) == schedule(7, 10)
    assert schedule(7, 10) != schedule(8, 10)


@pytest.mark.parametrize("seed", range(20))
def test_ten_minutes_have_every_fault_and_are_quiet_at_start_and_end(seed):
    faults = schedule(seed, 10)
    assert {each.name for each in faults} == set(FAULTS)
    assert all(QUIET_S <= each.at_s <= 600 - QUIET_S for each in faults)
    assert [each.at_s for each in faults] == sorted(each.at_s for each in faults)


def test_each_kind_of_fault_occurs_in_the_first_half_of_ten_minutes():
    for seed in range(200):
        names = [each.name for each in schedule(seed, 10) if each.at_s < 300]
        assert set(names) == set(FAULTS)


WHOLE = {"minutes": 10, "only": None, "kinds": None, "spark": True, "seats": None, "hidden": False}


@pytest.mark.parametrize(
    ("options", "lacking", "wrong"),
    [
        ({}, (), 0),
        ({}, ("network cut",), 1),
        ({"minutes": 9}, ("network cut",), 0),
        ({"only": ["broker killed"]}, ("network cut",), 0),
        ({"only": ["broker killed", "network cut"], "minutes": 0.3}, ("network cut", "agent killed"), 1),
        ({"kinds": ["eager"]}, ("network cut",), 0),
        ({"spark": False}, (STREAM,), 0),
        ({}, (STREAM,), 1),
    ],
)
def test_a_fault_that_never_happened_is_an_error_in_a_whole_run(options, lacking, wrong):
    done = Counter({name: 2 for name in FAULTS if name not in lacking})
    verdict = happened(done, SimpleNamespace(**WHOLE | options))
    assert [each for each in verdict.wrong if "network cut" in each or STREAM in each] == list(verdict.wrong)
    assert len(verdict.wrong) == wrong
    assert ("never: network cut" in verdict.what) == ("network cut" in lacking)


def test_faults_can_be_included_or_excluded():
    assert {each.name for each in schedule(1, 2, ("network cut",))} == {"network cut"}
    assert {each.name for each in schedule(1, 10, faults=SEATS_FAULTS)} == SEATS_FAULTS.keys()


def test_an_observer_that_depends_on_gateways_is_killed_too():
    of_gateways = faults_of(SimpleNamespace(**WHOLE | {"seats": "off", "hidden": True}))
    assert of_gateways.keys() == SEATS_FAULTS.keys() | {"agent killed", "agent stopped", "agent restarted"}


def test_the_text_of_a_fault_names_its_broker():
    assert str(Fault(12.0, "broker stopped in bursts", 3.25, 2)) == "  12.0 s  broker 2 stopped in bursts (3.2 s)"
    assert str(Fault(12.0, "brokers restarted in turn", 0, 2)) == "  12.0 s  brokers restarted in turn"
    assert str(Fault(12.0, "gateway killed", 1, 3)) == "  12.0 s  gateway 2 killed (1.0 s)"


def test_every_fault_is_implemented():
    assert INJECTED.keys() == FAULTS.keys() | SEATS_FAULTS.keys()
