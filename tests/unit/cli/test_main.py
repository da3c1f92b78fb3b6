from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from docs.developers.writers.saved_help_file import saved_help_json

from rebalance_agent.cli import main, saved_help


def _reported(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_an_unknown_flag_is_reported_with_a_short_usage_and_the_closest_flag(capsys):
    lines = _reported(capsys, "observe", "--setle-seconds=3").splitlines()
    assert len(lines) < 6
    assert lines[-1].endswith("agent observe: error: there is no flag --setle-seconds; did you mean --settle-seconds?")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("watch --onc", "there is no flag --onc; did you mean --once?"),
        ("demo --second 5", "there is no flag --second; did you mean --seconds?"),
        ("explain orders --las 1", "there is no flag --las; did you mean --last?"),
        ("observe --bootstrap-server a:1", "there is no flag --bootstrap-server; did you mean --bootstrap-servers?"),
        ("pipeline aggregate --tables t --dry", "there is no flag --dry; did you mean --dry-run?"),
        ("explain ship --group ship", "there is no flag --group; GROUP is written without a flag"),
        ("watch --group ship", "there is no flag --group; GROUPS is written without a flag"),
        ("explain ship --xyz", "there is no flag --xyz"),
        ("--versoin", "there is no flag --versoin; did you mean --version?"),
        ("--versoin watch", "there is no flag --versoin; did you mean --version?"),
        ("help obsreve", "there is no command 'obsreve'; did you mean observe?"),
    ],
)
def test_a_shortened_or_unknown_flag_is_refused_with_a_hint(capsys, arguments, error):
    assert _reported(capsys, *arguments.split()).endswith(f"error: {error}\n")


def test_help_is_also_a_command(capsys):
    for words in ([], ["watch"], ["pipeline", "ingest"]):
        for arguments in ([*words, "--help"], ["help", *words]):
            with pytest.raises(SystemExit) as ended:
                main.main(arguments)
            assert not ended.value.code
        shown = capsys.readouterr().out
        assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]


def test_an_error_stands_below_a_usage_of_one_line(capsys):
    lines = _reported(capsys, "explain", "orders", "--last", "x").splitlines()
    assert lines == [
        "usage: rebalance-agent explain [--help] [FLAG ...] GROUP",
        "rebalance-agent explain: error: argument --last: must be a whole number from 1 to 50",
    ]
    assert _reported(capsys, "watch", "--sort", "stal").endswith("; did you mean stall?\n")
    assert _reported(capsys, "check", "--role", "gatway").endswith("; did you mean gateway?\n")
    assert _reported(capsys, "pipeline").endswith("are required: STAGE\n")


def test_an_additional_argument_is_an_error(capsys):
    assert "error: unexpected argument 'billing'" in _reported(capsys, "explain", "orders", "billing")


def test_an_unknown_command_is_reported_with_the_closest_one_or_all(capsys):
    reported = _reported(capsys, "obsreve")
    assert reported.startswith("usage: rebalance-agent [-h] [--version] COMMAND ...\n")
    assert reported.endswith("error: there is no command 'obsreve'; did you mean observe?\n")
    assert "there is no command 'xyz'; the commands are assign, check" in _reported(capsys, "xyz")


def test_ctrl_c_while_a_command_is_imported_is_no_traceback(monkeypatch):
    def interrupted(_name):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    assert main.main(["observe"]) == main.INTERRUPTED


def test_ctrl_c_that_an_import_swallows_is_not_lost(monkeypatch):
    def swallows(_name):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(importlib, "import_module", swallows)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main.main(["observe"]) == main.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_can_be_imported_in_another_thread(capsys):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main.main, ["strategies", "sticky"]).result() == 0
    assert "sticky" in capsys.readouterr().out


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_that_an_import_turns_into_another_error_is_no_traceback(monkeypatch, ignored):
    def wrapped(_name):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ValueError(repr(error)) from None

    monkeypatch.setattr(importlib, "import_module", wrapped)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        if ignored:  # as in a shell's background jobs
            with pytest.raises(AttributeError):
                main.main(["observe"])
        else:
            assert main.main(["observe"]) == main.INTERRUPTED
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_entry_point_imports_little_before_it_handles_ctrl_c():
    code = (
        "import sys, rebalance_agent.cli.main; print(sum(name.startswith('rebalance_agent') for name in sys.modules))"
    )
    assert int(subprocess.check_output([sys.executable, "-c", code])) < 20


# The first process of a container has this id.
FIRST = """
import os, signal, sys
from docs.developers.writers.saved_help_file import saved_help_json

from rebalance_agent.cli import main, saved_help
os.getpid = lambda: 1
main._main = lambda _arguments: os.write(1, b"works") and signal.pause()
sys.exit(main.main())
"""


def test_a_containers_first_process_ends_on_sigterm():
    with subprocess.Popen([sys.executable, "-c", FIRST], stdout=subprocess.PIPE) as process:
        assert process.stdout.read(5) == b"works"
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM


@pytest.mark.parametrize("words", [("observe",), ("watch",), ("pipeline", "ingest")])
def test_help_needs_no_package_of_an_extra(monkeypatch, capsys, words):
    monkeypatch.setattr(main, "_imported", missing)
    assert main.main([*words, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"usage: rebalance-agent {' '.join(words)} ")
    assert "pip install '.[" in captured.err
    assert main.main(list(words)) == 2
    assert capsys.readouterr().out == ""


def missing(_name):
    raise ModuleNotFoundError("No module named 'pydantic'", name="pydantic")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of argparse write other lines")
def test_the_saved_help_is_current():
    file = Path(saved_help.__file__).with_name(saved_help.FILE)
    assert file.read_text() == saved_help_json(), "run: make docs"


def test_a_closed_output_pipe_is_no_error(monkeypatch, capfd):
    def gone(_options):
        raise BrokenPipeError

    monkeypatch.setattr("rebalance_agent.cli.commands.strategies.run", gone)
    monkeypatch.setattr(main.os, "dup2", lambda _from, _to: None)
    assert main.main(["strategies"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [("explain", ""), ("whatif", ""), ("migrate", ""), ("decode", "--group", ""), ("gateway", "--explain", "")],
)
def test_an_empty_group_is_refused_before_anybody_is_asked(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main.main([*arguments])
    assert ended.value.code == 2
    assert "must not be empty" in capsys.readouterr().err


def test_the_missing_package_has_the_name_that_users_know_and_the_command_for_a_checkout(capsys):
    assert main._missing("pipeline", ModuleNotFoundError(name="py4j"), []) == 2
    assert "the package 'pyspark' is missing" in (text := capsys.readouterr().err)
    assert "; run in a checkout: pip install '.[pipeline]'" in text


def test_the_help_of_commands_is_wrapped(capsys):
    with pytest.raises(SystemExit):
        main.main(["strategies", "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 120
