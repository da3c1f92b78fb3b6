"""`migrate --watch --back` follows a group from the consumer protocol back to the classic protocol."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rebalance_agent.cli.commands import migrate
from rebalance_agent.model.group import GroupType
from support.migration.migrate_command import BROKER, OLD, ORDERS, Recorded, asking
from support.tracker.histories import generation

CLASSIC, CONSUMER = GroupType.CLASSIC, GroupType.CONSUMER
NEW = replace(OLD, member_id="new", protocol=CONSUMER)
DONE = replace(ORDERS, group_type=CONSUMER, assignor=None, members=(NEW, replace(NEW, member_id="new2")))
JOINED = replace(DONE, members=(replace(OLD, settled=False), NEW))
MIXED = replace(DONE, members=(OLD, NEW))
COMMAND = "    rebalance-agent migrate orders --watch --back --bootstrap-servers kafka:9092\n"


@pytest.fixture
def asked(monkeypatch, capsys):
    return asking(monkeypatch, capsys)


def with_policy(policy):
    return {**BROKER, "group.consumer.migration.policy": policy}


def events(*kinds):
    return [
        generation(number, [], {}, group_type=kind, assignor="range" if kind is CLASSIC else None, moved=number)
        for number, kind in enumerate(kinds, 1)
    ]


def test_the_way_back_is_followed_until_the_group_is_classic(asked):
    past = events(CLASSIC, CONSUMER, CONSUMER, CLASSIC, CLASSIC)
    followed = [DONE, JOINED, MIXED, ORDERS, DONE]
    code, text = asked(DONE, "--watch", "--back", events=past, followed=followed)
    assert code == 0
    steps, table = text.split("\n\n", 1)
    replace_the = "all members have their partitions: replace the"
    assert steps.splitlines() == [
        f"GO     2 of 2 members on the consumer protocol: {replace_the} first member that uses the consumer protocol",
        "WAIT   1 of 2 members on the consumer protocol: 1 member does not have the newest assignment yet",
        f"GO     1 of 2 members on the consumer protocol: {replace_the} next member that uses the consumer protocol",
        "BACK   0 of 2 members on the consumer protocol: all members use the classic protocol again",
    ]
    rows = [line.split()[:-4] for line in table.splitlines()[1:4]]
    assert rows == [
        ["before", "range", "1", "1"],
        ["since", "the", "migration", "-", "2", "5"],
        ["classic", "again", "range", "2", "9"],
    ]
    assert table.endswith("\nThe group is classic again.\n")


def test_the_report_of_the_way_back_as_json_has_the_rebalances_before_and_after(asked):
    past = events(CLASSIC, CONSUMER, CONSUMER, CLASSIC)
    code, text = asked(DONE, "--watch", "--back", "--json", events=past, followed=[DONE, MIXED, ORDERS])
    *steps, last = map(json.loads, text.splitlines())
    assert code == 0
    assert [(step["go"], step["classic"], step["way_back"]) for step in steps] == [
        ("go", 0, None),
        ("go", 1, None),
        ("back", 2, None),
    ]
    report = last["report"]
    assert (report["since"]["moved"], report["returned"]["moved"], report["back"]) == (5, 4, True)
    assert last["complete"]


@pytest.mark.parametrize(
    ("generations", "complete"),
    [([(1, CLASSIC), (4, CONSUMER)], False), ([(1, CLASSIC), (4, CONSUMER), (5, CLASSIC)], True)],
)
def test_the_report_waits_for_the_first_classic_rebalance(asked, monkeypatch, generations, complete):
    monkeypatch.setattr(migrate, "SETTLE_SECONDS_MAX", 0.0)
    monkeypatch.setattr(Recorded, "epoch", 4)
    past = [generation(number, [], {}, group_type=kind) for number, kind in generations]
    text = asked(DONE, "--watch", "--back", "--json", events=past, followed=[DONE, ORDERS])[1]
    assert json.loads(text.splitlines()[-1])["complete"] is complete


@pytest.mark.parametrize("policy", ["upgrade", "disabled"])
def test_a_group_that_cannot_go_back_while_it_runs_is_not_followed(asked, policy):
    code, text = asked(DONE, "--watch", "--back", broker=with_policy(policy), followed=[DONE, ORDERS])
    assert code == 1
    assert text == (
        "NO-GO  2 of 2 members on the consumer protocol: Members cannot go back one by one: "
        f"group.consumer.migration.policy is {policy}, so the group does not become classic again; to go back, stop "
        "all members, and start them with the old configuration\n"
    )


def test_a_group_that_may_go_back_is_followed_although_the_policy_is_unknown(asked):
    code, text = asked(DONE, "--watch", "--back", broker={}, followed=[DONE, ORDERS])
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == ["NO-GO", "BACK"]
    assert "because group.consumer.migration.policy could not be read\n" in text


def test_a_group_without_consumers_is_not_followed(asked):
    shared = replace(DONE, group_type=GroupType.SHARE)
    code, text = asked(shared, "--watch", "--back", followed=[shared, ORDERS])
    assert (code, text.count("\n")) == (1, 1)
    assert "It is a share group" in text


def test_a_classic_group_is_back_already(asked):
    code, text = asked(ORDERS, "--watch", "--back")
    assert (code, text.count("\n")) == (0, 1)
    assert text.startswith("BACK   0 of 2 members")


def test_without_the_flag_a_group_that_has_changed_is_done(asked):
    code, text = asked(DONE, "--watch", followed=[DONE, MIXED, ORDERS])
    assert (code, text.split()[0]) == (0, "DONE")


def test_the_flag_is_only_for_watching(asked):
    assert asked(DONE, "--back") == (2, "")


@pytest.mark.parametrize(
    ("group", "policy", "named"),
    [
        (DONE, "bidirectional", True),
        (DONE, "downgrade", True),
        (DONE, "upgrade", False),
        (MIXED, "bidirectional", False),
        (replace(DONE, members=()), "bidirectional", False),
    ],
)
def test_a_group_that_has_changed_and_can_go_back_has_the_command(asked, group, policy, named):
    text = asked(group, broker=with_policy(policy))[1]
    assert (COMMAND in text) is named
    assert ("To go back, restart the new members with the old configuration, one by one." in text) is named


def test_a_deleted_group_is_reported_while_the_watch_waits(asked):
    code, text = asked(DONE, "--watch", "--back", followed=[DONE, None, ORDERS])
    assert (code, [line.split()[0] for line in text.splitlines()[:2]]) == (0, ["GO", "BACK"])
    assert asked.errors == "the group 'orders' was deleted: waiting until it exists again\n"
