"""The tiers of ``tests/run.py`` contain every test, and ``--fast`` contains no additional ones."""

from pathlib import Path

import run

TESTS = Path(run.__file__).parent


def folders(tiers):
    """The folders passed to pytest."""
    return {each for tier in tiers for command in tier.commands for each in command.arguments if each[:6] == "tests/"}


def test_every_test_is_in_a_tier():
    chosen = {TESTS.parent / folder for folder in folders((*run.TIERS, *run.ON_REQUEST))}
    written = set(TESTS.rglob("test_*.py"))
    assert [path for path in written if chosen.isdisjoint(path.parents)] == []
    assert [folder for folder in chosen if not any(folder in path.parents for path in written)] == []


def test_the_fast_run_is_a_part_of_the_full_run():
    assert {tier.name for tier in run.LOOP} <= {tier.name for tier in run.TIERS}
    assert folders(run.LOOP) <= folders(run.TIERS)


def test_only_tiers_on_request_run_alone():
    assert not any(map(run.is_alone, run.TIERS))
    assert all(map(run.is_alone, run.ON_REQUEST))
    assert [len(each) for each in run.concurrent_tiers([*run.TIERS, *run.ON_REQUEST])] == [len(run.TIERS), 1, 1, 1, 1]


def test_commands_write_bytecode_even_if_the_environment_disables_it():
    given = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/home/user", "PYTHONPATH": "elsewhere"}
    agent = str(TESTS.parent / "agent")
    assert run.environment_of_commands(given) == run.GO | {"HOME": "/home/user", "PYTHONPATH": agent}


def test_settings_of_programs_in_go_are_the_users_where_there_are_some():
    assert run.environment_of_commands({"GOGC": "100"})["GOGC"] == "100"


def test_the_core_runs_on_each_kafka_with_tools(tmp_path):
    (tier,) = (tier for tier in run.ON_REQUEST if tier.name == "versions")
    kafkas = [job.environment.get(run.VARIABLE) for job in run.jobs_of(tier, [], {}, tmp_path)]
    assert kafkas == [None, *run.WITH_TOOLS]
