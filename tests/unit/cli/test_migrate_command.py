"""The text, the JSON and the exit codes of `migrate`."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
import yaml

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup
from rebalance_agent.cli import main
from rebalance_agent.cli.commands import migrate
from rebalance_agent.cli.inputs.migration_inputs import MigrationInputs
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.runtime.watch.history_reader import GroupPast
from support.assignors.walks import Walk
from support.migration.migrate_command import BROKER, OLD, ORDERS, Recorded, asking
from support.observer.views import member_event
from support.tracker.histories import STRATEGIES, generation, walked

NEW = replace(OLD, member_id="new", protocol=GroupType.CONSUMER)
MIXED = replace(ORDERS, group_type=GroupType.CONSUMER, members=(OLD, replace(NEW, settled=False)))


@pytest.fixture
def asked(monkeypatch, capsys):
    return asking(monkeypatch, capsys)


def test_a_group_that_can_change_has_steps_and_a_way_back(asked):
    events = walked(Walk(3), STRATEGIES["range"], 5)
    code, text = asked(ORDERS, events=events)
    assert code == 0
    assert "Yes: its members can change" in text
    assert "group.remote.assignor=range" in text
    assert "Restart the 2 members one by one" in text
    assert "rebalance-agent migrate orders --watch --bootstrap-servers kafka:9092\n" in text
    assert "To go back, restart the new members" in text
    assert "uniform" in text
    assert "range (recorded)" in text


@pytest.mark.parametrize(
    ("client_id", "answer"),
    [
        ("own", "Not known: its members can change to the consumer protocol"),
        ("kafkajs", "No: the brokers allow it, but no member has a client that supports the consumer protocol"),
    ],
)
def test_an_answer_that_depends_on_the_clients_says_so_and_is_not_a_yes(asked, client_id, answer):
    code, text = asked(replace(ORDERS, members=(replace(OLD, client_id=client_id),)))
    assert code == 1
    assert answer in " ".join(text.split())
    assert ("Steps:" in text) is (client_id == "own")


def test_a_group_without_members_starts_them_and_has_its_last_recorded_assignor(asked):
    events = walked(Walk(3), STRATEGIES["range"], 5)
    code, text = asked(replace(ORDERS, members=(), assignor=None), events=events)
    assert code == 0
    assert "Yes: the group has no members; start them with the consumer protocol (KIP-848)." in text
    assert "2. Start the members." in text
    assert "one by one" not in text
    assert "range (recorded)" in text


@pytest.mark.parametrize(("version", "fix"), [("2.11.1", "librdkafka 2.12 or later"), ("2.12.0", None)])
def test_a_client_library_that_a_gateway_reported_is_known(asked, version, fix):
    group = replace(ORDERS, members=(replace(OLD, client_id="own"),))
    code, text = asked(group, events=[member_event(software=ClientSoftware("librdkafka", version))])
    assert (code, "Yes: its members can change" in text) == (0, True)
    assert ("cannot change with librdkafka 2.11.1" in text) is bool(fix)
    assert fix is None or fix in text


@pytest.mark.parametrize(("other", "exit_code", "answer"), [("consumer-orders-1", 0, "Yes"), ("own", 1, "Not known")])
def test_members_whose_library_has_no_consumer_protocol_stay_classic(asked, other, exit_code, answer):
    mixed = replace(ORDERS, members=(replace(OLD, client_id=other), replace(OLD, member_id="m2", client_id="kafkajs")))
    code, text = asked(mixed)
    assert code == exit_code
    assert f"{answer}: its members can change" in text
    assert "Members whose library does not support it stay classic." in " ".join(text.split())
    assert json.loads(asked(mixed, "--json")[1])["can_change"] is (True if exit_code == 0 else None)


def test_all_rows_count_the_rebalances_since_the_last_change_of_assignor(asked):
    events = walked(Walk(3), STRATEGIES["range"], 5)
    changed = [replace(event, assignor="roundrobin") if index < 3 else event for index, event in enumerate(events)]
    compared = json.loads(asked(ORDERS, "--json", events=changed)[1])["what_if"]
    rebalances = {compared["recorded"]["rebalances"], *(each["rebalances"] for each in compared["brokers"])}
    assert len(rebalances) == 1
    assert rebalances != {len(events)}


def test_a_blocked_group_has_the_setting_and_no_steps(asked):
    code, text = asked(ORDERS, broker={**BROKER, "group.consumer.migration.policy": "disabled"})
    assert code == 1
    assert "No: its members cannot change" in text
    assert "blocks: The brokers do not allow a change" in text
    assert "group.consumer.migration.policy=bidirectional" in text
    assert "Steps" not in text


def test_without_the_policy_the_answer_is_not_known(asked):
    code, text = asked(ORDERS, broker={})
    assert code == 1
    assert "It is not known" in text
    assert "DescribeConfigs" in text


def test_json_has_the_answer_the_findings_and_the_replay(asked):
    code, text = asked(ORDERS, "--json", "--assignor", "range", events=walked(Walk(3), STRATEGIES["range"], 5))
    found = json.loads(text)
    assert code == 0
    assert (found["online"], found["done"], found["members"], found["findings"]) == (True, False, 2, [])
    assert [each["assignor"] for each in found["what_if"]["brokers"]] == ["range"]
    assert found["step"]["go"] == "go"


def test_a_group_that_is_done_needs_nothing(asked):
    done = MigratingGroup("orders", GroupType.CONSUMER, (replace(OLD, protocol=GroupType.CONSUMER),))
    code, text = asked(done)
    assert code == 0
    assert "Nothing to do" in text
    assert asked(done, "--watch") == (
        0,
        "DONE   1 of 1 member on the consumer protocol: all members use the consumer protocol\n",
    )


class Epochs(Recorded):
    """A group of epochs, the newest of which is 2."""

    epoch = 2


@pytest.fixture
def watched(monkeypatch, capsys):
    """Watch a group that is done; the event of its newest epoch is there after ``delayed`` reads. Return the output."""

    def run(delayed, *arguments, complete):
        done = MigratingGroup("orders", GroupType.CONSUMER, (replace(OLD, protocol=GroupType.CONSUMER),))
        old, new = GroupType.CLASSIC, GroupType.CONSUMER
        before, first, last = (
            generation(number, [], {}, group_type=kind) for number, kind in enumerate((old, new, new), start=0)
        )
        reads = iter([(before, first)] * delayed + [(before, first, last)] * 99)
        monkeypatch.setattr(migrate, "quiet_logs", lambda: None)
        monkeypatch.setattr(migrate, "SETTLE_PAUSE_SECONDS", 0.001)
        monkeypatch.setattr(migrate, "SETTLE_SECONDS_MAX", 30.0 if complete else 0.0)
        limits = BrokerLimits(BROKER, {}, consumer_groups=True)
        monkeypatch.setattr(migrate, "read_inputs", lambda _options: MigrationInputs(limits, 1, Epochs(done), 0))
        monkeypatch.setattr(migrate, "past_in_cluster", lambda _options: GroupPast(next(reads), "events", known=True))
        monkeypatch.setattr(MigrationInputs, "followed", lambda self, _options: iter([self.group]))
        assert main.main(["migrate", "orders", "--bootstrap-servers", "kafka:9092", "--watch", *arguments]) == 0
        return capsys.readouterr().out

    return run


DELAYS = pytest.mark.parametrize(("delayed", "complete"), [(0, True), (2, True), (99, False)])


@DELAYS
def test_the_table_waits_until_the_last_rebalance_has_settled(watched, delayed, complete):
    text = watched(delayed, complete=complete)
    (since,) = [line for line in text.splitlines() if line.startswith("since the migration")]
    assert since.split()[4] == ("2" if complete else "1")
    assert ("is not recorded yet" in text) is not complete
    assert ("    rebalance-agent migrate orders --bootstrap-servers kafka:9092\n" in text) is not complete


@DELAYS
def test_the_last_line_of_json_is_the_report_with_the_last_rebalance(watched, delayed, complete):
    *_, last = map(json.loads, watched(delayed, "--json", complete=complete).splitlines())
    assert (last["report"]["before"]["rebalances"], last["report"]["back"]) == (1, False)
    assert (last["report"]["since"]["rebalances"], last["complete"]) == ((2, True) if complete else (1, False))


@pytest.mark.parametrize(
    ("group", "policy", "end"),
    [
        (
            MIXED,
            "bidirectional",
            "newest assignment yet; to go back, restart the new members with the old configuration",
        ),
        (MIXED, "upgrade", "assignment yet; to go back, stop all members, and start them with the old configuration"),
        (
            replace(MIXED, members=(OLD,)),
            "upgrade",
            "first classic member; to go back, stop all members, and start them with the old configuration",
        ),
        (replace(MIXED, members=(OLD, NEW)), "bidirectional", "replace the next classic member"),
    ],
)
def test_a_step_that_waits_or_stops_has_the_way_back(asked, group, policy, end):
    broker = {**BROKER, "group.consumer.migration.policy": policy}
    (line,) = asked(group, "--watch", broker=broker)[1].splitlines()
    assert line.endswith(end)


def test_the_steps_of_a_group_that_cannot_go_back_one_by_one_stop_all_members(asked):
    text = asked(ORDERS, broker={**BROKER, "group.consumer.migration.policy": "upgrade"})[1]
    assert "To go back, stop all members, and start them with the old configuration." in " ".join(text.split())


def test_a_watch_ends_when_the_group_is_classic_again(asked):
    old, new = GroupType.CLASSIC, GroupType.CONSUMER
    events = [generation(number, [], {}, group_type=kind) for number, kind in enumerate((old, new, old))]
    followed = [ORDERS, MIXED, ORDERS, MIXED]
    code, text = asked(ORDERS, "--watch", events=events, followed=followed)
    assert code == 1
    assert [line.split()[0] for line in text.splitlines()[:3]] == ["GO", "WAIT", "BACK"]
    assert "BACK   0 of 2 members on the consumer protocol: all members use the classic protocol again\n\n" in text
    assert text.endswith("\nThe group is classic again.\n")
    *steps, last = map(json.loads, asked(ORDERS, "--watch", "--json", events=events, followed=followed)[1].splitlines())
    assert [step["go"] for step in steps] == ["go", "wait", "back"]
    assert (last["report"]["back"], last["complete"]) == (True, True)


@pytest.mark.parametrize(
    ("generations", "complete", "back"),
    [
        ([(3, GroupType.CLASSIC), (4, GroupType.CONSUMER)], False, False),
        ([(3, GroupType.CLASSIC), (4, GroupType.CONSUMER), (5, GroupType.CLASSIC)], True, True),
        # All members stopped, so that the generations begin anew.
        ([(3, GroupType.CLASSIC), (4, GroupType.CONSUMER), (1, GroupType.CLASSIC)], True, True),
        # No rebalance of the consumer protocol ended.
        ([(3, GroupType.CLASSIC)], False, None),
        ([(3, GroupType.CLASSIC), (5, GroupType.CLASSIC)], True, None),
    ],
)
def test_the_report_of_a_way_back_waits_for_the_first_classic_rebalance(
    asked, monkeypatch, generations, complete, back
):
    monkeypatch.setattr(migrate, "SETTLE_SECONDS_MAX", 0.0)
    monkeypatch.setattr(Recorded, "epoch", 4)
    events = [generation(number, [], {}, group_type=kind) for number, kind in generations]
    text = asked(ORDERS, "--watch", "--json", events=events, followed=[MIXED, ORDERS])[1]
    last = json.loads(text.splitlines()[-1])
    assert (last["complete"], last["report"] and last["report"]["back"]) == (complete, back)


def test_a_step_is_printed_once(asked):
    code, text = asked(ORDERS, "--watch", "--json")
    assert code == 0
    step, report = map(json.loads, text.splitlines())
    assert step["classic"] == 2
    assert report == {"report": None, "complete": True}
    assert list(yaml.safe_load_all(asked(ORDERS, "--watch", "--output", "yaml")[1])) == [step, report]


@pytest.mark.parametrize("policy", ["disabled", "bidirectional"])
def test_csv_has_a_line_for_each_finding_or_one_line_without_a_finding(asked, policy):
    command = (ORDERS, "--assignor", "range", "--output")
    broker = {**BROKER, "group.consumer.migration.policy": policy}
    code, text = asked(*command, "csv", broker=broker)
    found = json.loads(asked(*command, "json", broker=broker)[1])
    assert yaml.safe_load(asked(*command, "yaml", broker=broker)[1]) == found
    rows = list(csv.DictReader(text.splitlines()))
    assert code == (policy == "disabled")
    assert {(row["group"], row["members"], row["can_change"]) for row in rows} == {
        ("orders", "2", "false" if policy == "disabled" else "true")
    }
    named = ("verdict", "subject", "setting", "text", "fix")
    listed = [[finding[name] or "" for name in named] for finding in found["findings"]]
    assert [[row[name] for name in named] for row in rows] == (listed or [[""] * len(named)])


def test_csv_of_a_watch_has_a_line_for_each_step_and_waits_for_no_report(asked, monkeypatch):
    monkeypatch.setattr(migrate, "_settled_report", None)
    followed = [ORDERS, MIXED, MIXED, ORDERS]
    code, text = asked(ORDERS, "--watch", "--output", "csv", followed=followed)
    assert code == 1
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["go"], row["classic"], row["members"]) for row in rows] == [
        ("go", "2", "2"),
        ("wait", "1", "2"),
        ("back", "2", "2"),
    ]
    assert (rows[0]["way_back"], rows[1]["way_back"]) == ("", "restart the new members with the old configuration")


def test_control_characters_in_names_are_not_printed(asked):
    evil = replace(ORDERS, group="a\x1b[2J", assignor="b\x1b[2J", members=(replace(OLD, client_id="c\x1b[2J"),))
    code, text = asked(evil, "--pattern", "(?!x)\x1b")
    assert code == 1
    assert "\x1b" not in text


def test_an_empty_assignor_is_wrong_usage(asked):
    assert asked(ORDERS, "--assignor", "")[0] == 2
