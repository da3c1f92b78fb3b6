from __future__ import annotations

import importlib

import pytest

from rebalance_agent.cli import main


def _told(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_flag_that_is_not_there_is_told_below_a_short_usage_with_what_it_may_have_been(capsys):
    lines = _told(capsys, "observe", "--setle-seconds=3").splitlines()
    assert len(lines) < 6
    assert lines[-1] == "rebalance-agent observe: error: it takes no --setle-seconds; is it --settle-seconds?"


def test_a_word_too_many_is_told(capsys):
    assert "error: it takes no billing" in _told(capsys, "explain", "orders", "billing")


def test_a_command_that_is_not_there_is_told_with_those_that_are(capsys):
    assert "there is no command 'observ'; the commands are assign, check" in _told(capsys, "observ")


def test_ctrl_c_while_a_command_is_imported_is_no_traceback(monkeypatch):
    def interrupted(_name):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    assert main.main(["observe"]) == main.INTERRUPTED


def test_a_reader_who_has_enough_is_no_error(monkeypatch, capfd):
    def gone(_options):
        raise BrokenPipeError

    monkeypatch.setattr("rebalance_agent.cli.strategies.run", gone)
    monkeypatch.setattr(main.os, "dup2", lambda _from, _to: None)
    assert main.main(["strategies"]) == 0
