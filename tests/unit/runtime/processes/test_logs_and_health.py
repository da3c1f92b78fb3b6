from __future__ import annotations

import io
import json
import logging

import pytest
import structlog
from structlog.testing import capture_logs

from rebalance_agent.clock import FakeClock
from rebalance_agent.http.health import STARTING, Readiness
from rebalance_agent.model.episode import Basis, FailureReason, Source, Stall, Trigger
from rebalance_agent.model.events import AbortedEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.processes.logs import VALUE_MAX, configure_logs
from rebalance_agent.runtime.watch import line_budget
from rebalance_agent.runtime.watch.episode_log import EpisodeLog
from rebalance_agent.runtime.watch.line_budget import BURST, EVERY_S, LineBudget
from support.observer.fakes import Calls, generation_event


def test_logs_are_json_lines_with_bound_fields_also_from_libraries():
    stream = io.StringIO()
    configure_logs("info", "auto", stream)
    structlog.get_logger("a").bind(group="g", generation=3).info("rebalance", moved=2)
    structlog.get_logger("a").debug("not this")
    logging.getLogger("library").warning("trouble %s", "here")
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        logging.getLogger("library").exception("worse")
    first, second, third = map(json.loads, stream.getvalue().splitlines())
    assert (first["event"], first["group"], first["generation"], first["moved"]) == ("rebalance", "g", 3, 2)
    assert (first["level"], first["logger"]) == ("info", "a")
    assert (second["event"], second["level"]) == ("trouble here", "warning")
    assert "ZeroDivisionError" in json.dumps(third)


@pytest.mark.parametrize(("level", "written"), [("info", 0), ("debug", 1)])
def test_lines_of_kafka_python_about_its_connections_are_written_at_debug_only(level, written):
    stream = io.StringIO()
    configure_logs(level, "json", stream)
    logging.getLogger("kafka.net.manager").error("Connection failed")
    assert len(stream.getvalue().splitlines()) == written


def test_the_console_format_is_readable():
    stream = io.StringIO()
    configure_logs("debug", "console", stream)
    structlog.get_logger("a").debug("hello", group="g")
    assert "hello" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


@pytest.mark.parametrize(("refused", "colored"), [("", True), ("1", False)])
def test_a_terminal_gets_colors_unless_the_user_refuses_them(monkeypatch, refused, colored):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", refused)
    stream = io.StringIO()
    stream.isatty = lambda: True
    configure_logs("debug", "auto", stream)
    structlog.get_logger("a").debug("hello", group="g")
    assert ("\x1b[" in stream.getvalue()) == colored


@pytest.mark.parametrize(
    "name", ["g\n2026 [error] forged", "\x1b[2J", "\x9b31m", "a\u202eb", "\x0b", "\u2028", "\ud800"]
)
def test_external_names_cannot_forge_a_line_of_the_console_format(name):
    stream = io.StringIO()
    configure_logs("info", "console", stream)
    logging.getLogger("library").warning("member %s", name)
    structlog.get_logger("a").info("hello", group=name, members=[name])
    for line in stream.getvalue().removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert line[:4].isdigit()
    assert stream.getvalue().count("\n") == 2


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_long_name_is_cut(form):
    stream = io.StringIO()
    configure_logs("info", form, stream)
    logging.getLogger("library").warning("member %s", "m" * 32_000)
    structlog.get_logger("a").info("hello", group="g" * 32_000)
    first, second = stream.getvalue().splitlines()
    assert "... (32007 characters)" in first
    assert "g" * VALUE_MAX + "... (32000 characters)" in second
    assert max(len(first), len(second)) < VALUE_MAX + 300


def test_a_name_in_an_error_cannot_forge_a_log_line():
    stream = io.StringIO()
    configure_logs("info", "console", stream)
    error = ValueError("no group \x1b[2J\n2026-01-01 [error] forged")
    structlog.get_logger("a").error("failed", exc_info=error)
    first, *traceback = stream.getvalue().removesuffix("\n").split("\n")
    assert "failed" in first
    assert all(line.isprintable() and line.startswith("  ") for line in traceback)
    assert traceback == [r"  ValueError: no group \x1b[2J", "  2026-01-01 [error] forged"]


def test_a_failure_and_its_end_are_each_reported_once_and_the_last_recovery_is_a_reconnect():
    readiness, reports = Readiness(), Calls()
    health = LoggedHealth(readiness, reports.reconnected)
    health.starting(["a", "b"])
    assert readiness.reasons() == {"a": STARTING, "b": STARTING}
    with capture_logs() as logs:
        health.ready("a")
        health.ready("b")
        for _ in range(3):
            health.unready("a", "away")
            health.unready("b", "away")
        assert readiness.reasons() == {"a": "away", "b": "away"}
        health.ready("a")
        assert reports.made == []
        health.ready("b")
        health.ready("b")
    assert reports.made == [("reconnected",)]
    assert readiness.is_ready
    assert [(log["event"], log.get("part")) for log in logs] == [
        ("ready", None),
        ("not_ready", "a"),
        ("not_ready", "b"),
        ("recovered", "a"),
        ("recovered", "b"),
    ]


@pytest.mark.parametrize(("role", "command"), [("", "check"), ("gateway", "check --role gateway")])
def test_the_line_about_a_cluster_that_does_not_answer_names_the_command_that_tests_it(role, command):
    health = LoggedHealth(Readiness(), lambda: None, role)
    with capture_logs() as logs:
        health.unready("cluster", "away")
        health.unready("list", "away")
    hint = f"`rebalance-agent {command}` with the same settings tests servers, login and permissions"
    assert [(log["part"], log.get("hint")) for log in logs] == [("cluster", hint), ("list", None)]


def test_a_start_without_failures_has_no_warning_and_ends_with_ready():
    readiness, reports = Readiness(), Calls()
    health = LoggedHealth(readiness, reports.reconnected)
    health.starting(["cluster", "topic"])
    with capture_logs() as logs:
        health.ready("cluster")
        for _ in range(3):
            health.busy("topic", "reading")
        assert readiness.reasons() == {"cluster": None, "topic": "reading"}
        health.ready("topic")
        health.ready("topic")
    assert [(log["event"], log["log_level"]) for log in logs] == [("not_ready_yet", "info"), ("ready", "info")]
    assert reports.made == []


def test_a_part_that_is_busy_again_ends_with_ready_again_and_a_failed_one_stays_failed():
    health = LoggedHealth(Readiness(["a"]), lambda: None)
    with capture_logs() as logs:
        health.ready("a")
        health.busy("a", "reading")
        health.ready("a")
        health.unready("a", "away")
        health.busy("a", "reading")
        health.ready("a")
    events = [log["event"] for log in logs]
    assert events == ["ready", "not_ready_yet", "ready", "not_ready", "recovered"]


def test_each_closed_rebalance_is_logged_in_one_line():
    log = EpisodeLog(FakeClock())
    with capture_logs() as logs:
        log.on_event(generation_event(closes_episode=False))
        log.on_event(
            generation_event(
                closes_episode=True, stall=Stall(1.23456, 0.5, 4.0, Basis.BOUND), trigger=Trigger.MEMBER_JOINED
            )
        )
        log.on_event(generation_event(closes_episode=True, revision=1))
        log.on_event(AbortedEvent("id", "c", "g", 1, Source.RECORDS, GroupType.CLASSIC, 4, FailureReason.ABORTED))
        log.on_event(GroupGoneEvent("id", "c", "g", 1, Source.RECORDS, GroupType.CLASSIC))
    closed, revised, aborted, gone = logs
    assert closed == {
        "event": "rebalance",
        "log_level": "info",
        "group": "g",
        "generation": 3,
        "trigger": "member_joined",
        "stall_seconds": 0.5,
        "stall_upper_seconds": 1.235,
        "basis": "bound",
        "moved": 0,
        "members": 0,
        "followups": 0,
        "source": "records",
    }
    assert (revised["log_level"], revised["stall_seconds"], revised["basis"]) == ("debug", None, None)
    assert (aborted["event"], aborted["log_level"], aborted["generation"]) == ("rebalance_aborted", "warning", 4)
    assert gone["event"] == "group_gone"


def test_a_group_that_rebalances_without_end_fills_no_log_and_other_groups_lines_stay():
    clock = FakeClock()
    log = EpisodeLog(clock)
    with capture_logs() as logs:
        for _ in range(BURST + 500):
            log.on_event(generation_event(group="hostile", closes_episode=True))
        log.on_event(generation_event(group="ordinary", closes_episode=True))
        clock.advance(int(EVERY_S) * 1000)
        log.on_event(generation_event(group="hostile", closes_episode=True))
    groups = [line["group"] for line in logs]
    assert groups == ["hostile"] * BURST + ["ordinary", "hostile"]
    assert [line.get("omitted") for line in logs] == [None] * (BURST + 1) + [500]


def test_the_number_of_groups_with_a_budget_of_lines_is_bounded(monkeypatch):
    monkeypatch.setattr(line_budget, "GROUPS_MAX", 2)
    budget = LineBudget(FakeClock())
    for group in ("a", "b", "a", "c"):
        assert budget.take(group) == 0
    assert list(budget._groups) == ["a", "c"]


def test_a_line_of_the_log_is_short_whatever_names_a_group_and_its_images_have():
    image = "image" * 10_000
    rollout = RolloutEvent(
        "id",
        "c",
        "g" * 30_000,
        1,
        Source.RECORDS,
        GroupType.CLASSIC,
        1,
        1,
        2,
        True,
        2,
        2,
        2,
        0.5,
        to_images=(image,) * 9,
    )
    with capture_logs() as logs:
        EpisodeLog(FakeClock()).on_event(rollout)
    assert len(str(logs)) < 3_000
