"""Real child processes: none of them survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.processes.children import Children, tail

EXIT_WITH_PARENT = "rebalance_agent.demo.processes.exit_with_parent"
ENDS_WITHIN = 20


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Writes modules for child processes."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))

    def write(name, text):
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture
def sleeper(modules):
    return modules(
        "sleeper",
        """
        import sys, threading
        print("arguments", sys.argv[1:], flush=True)
        threading.Event().wait()
        """,
    )


def wait_for_log(child, text):
    for _ in range(ENDS_WITHIN * 20):
        if text in child.log.read_text():
            return
        child.process.poll()
        try:
            child.process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(child.log.read_text())


def test_any_module_exits_with_its_parent_and_gets_its_arguments(tmp_path, sleeper):
    with Children(tmp_path) as children:
        child = children.start("one", EXIT_WITH_PARENT, sleeper, "a", "--b")
        wait_for_log(child, "arguments ['a', '--b']")
    assert not psutil.pid_exists(child.process.pid)


def test_the_end_of_the_block_also_ends_a_process_that_ignores_sigterm(tmp_path, modules):
    name = modules(
        "stubborn",
        """
        import signal, threading
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready", flush=True)
        threading.Event().wait()
        """,
    )
    with Children(tmp_path) as children:
        child = children.start("one", EXIT_WITH_PARENT, name)
        wait_for_log(child, "ready")
    assert child.process.returncode == -signal.SIGKILL


def test_a_process_gets_time_for_a_clean_end(tmp_path, modules):
    name = modules(
        "clean",
        """
        import signal, sys, threading
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        print("ready", flush=True)
        threading.Event().wait()
        """,
    )
    with Children(tmp_path) as children:
        child = children.start("one", EXIT_WITH_PARENT, name)
        wait_for_log(child, "ready")
    assert child.process.returncode == 7


def test_an_unexpected_end_of_a_child_is_a_failure_with_the_end_of_its_log(tmp_path, modules):
    with Children(tmp_path) as children:
        child = children.start("one", EXIT_WITH_PARENT, modules("broken", "print('last words'); raise SystemExit(3)"))
        child.process.wait(ENDS_WITHIN)
        with pytest.raises(DemoError, match=r"one ended with 3; (?s:.)*last words"):
            children.require_alive()


def test_a_requested_end_of_a_child_is_no_failure(tmp_path, sleeper):
    with Children(tmp_path) as children:
        children.start("one", EXIT_WITH_PARENT, sleeper)
        children.kill("one")
        children.require_alive()
        assert children.pids == {}


def test_a_name_can_be_started_again_once_its_process_has_ended(tmp_path, sleeper):
    with Children(tmp_path) as children:
        first = children.start("one", EXIT_WITH_PARENT, sleeper)
        with pytest.raises(DemoError, match="one is already running"):
            children.start("one", EXIT_WITH_PARENT, sleeper)
        children.kill("one")
        second = children.start("one", EXIT_WITH_PARENT, sleeper)
        assert children.pids == {"one": second.process.pid} != {"one": first.process.pid}


def test_a_line_is_sent_to_the_child_and_ignored_after_its_end(tmp_path, modules):
    name = modules(
        "listener",
        """
        import threading
        from rebalance_agent.demo.processes import exit_with_parent
        leave = threading.Event()
        exit_with_parent.watch_stdin(lambda line: (print("got", line, flush=True), line == "leave" and leave.set()))
        leave.wait()
        """,
    )
    with Children(tmp_path) as children:
        child = children.start("one", name)
        children.send("one", "slow 6")
        children.leave("one")
        child.process.wait(ENDS_WITHIN)
        children.send("one", "slow 7")
    assert child.log.read_text().splitlines() == ["got slow 6", "got leave"]


def test_no_child_survives_a_killed_parent(tmp_path, sleeper):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                f"""
                import threading
                from pathlib import Path
                from rebalance_agent.demo.processes.children import Children
                children = Children(Path({str(tmp_path)!r}))
                pids = [children.start(name, {EXIT_WITH_PARENT!r}, {sleeper!r}).process.pid for name in ("one", "two")]
                print(*pids, flush=True)
                threading.Event().wait()
                """
            ),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(children) == 2
        parent.kill()
        _, alive = psutil.wait_procs(children, timeout=ENDS_WITHIN)
    assert alive == []


def test_the_error_names_an_unreadable_log(tmp_path):
    assert tail(tmp_path / "absent.log") == f"the end of {tmp_path / 'absent.log'}:"
