"""The guard, with a small Python process instead of Java: processes end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import psutil
import pytest

from rebalance_agent.testing.kafka.java_process import GuardedProcess, guard_command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups")

PATIENCE_S = 10
SLEEPER = [sys.executable, "-I", "-S", "-c", "import signal; print('up', flush=True); signal.pause()"]
STUBBORN = [
    *SLEEPER[:4],
    "import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True); [signal.pause() for _ in range(9)]",
]
# A parent that starts one guarded process, prints the process ids, and executes commands.
PARENT = """
import os, sys
from pathlib import Path
from rebalance_agent.testing.kafka.java_process import GuardedProcess
folder = Path(sys.argv[1])
process = GuardedProcess(sys.argv[3:], folder / "log", dict(os.environ), [folder / "data"])
if sys.argv[2] == "fork" and os.fork() == 0:  # keeps the pipe to the guard open for as long as it lives
    os.close(0); os.close(1)
    import signal
    signal.pause()
print(process.pid, process.guard_pid, flush=True)
sys.stdin.read()
"""


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def await_true(condition) -> bool:
    """Return whether ``condition`` became true in time."""
    never = threading.Event()
    return any(condition() or never.wait(0.02) for _ in range(PATIENCE_S * 50)) or condition()


@pytest.fixture
def start(tmp_path):
    """Start a guarded process and wait until it runs; remaining processes are killed at the end."""
    processes = []

    def run(command=SLEEPER):
        (tmp_path / "log").touch()
        process = GuardedProcess(command, tmp_path / "log", os.environ, [tmp_path / "data"])
        processes.append(process)
        assert await_true(lambda: "up" in (tmp_path / "log").read_text())
        return process

    yield run
    for process in processes:
        process.kill()


@pytest.fixture
def parent(tmp_path):
    """Run a parent in another process: (the parent, id of its guarded process, id of the guard)."""
    (tmp_path / "data").mkdir()
    started = []

    def run(mode="plain"):
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(tmp_path), mode, *SLEEPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        pid, guard = map(int, process.stdout.readline().split())
        assert await_true(lambda: "up" in (tmp_path / "log").read_text())
        return process, pid, guard

    yield run
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_terminate_sends_sigterm(start):
    process = start()
    process.terminate()
    assert process.exited.wait(PATIENCE_S)
    assert process.exit_code == -signal.SIGTERM


def test_kill_ends_a_process_that_ignores_sigterm(start):
    process = start(STUBBORN)
    process.terminate()
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    assert gone(process.pid)


def test_the_exit_status_and_the_output_are_kept(tmp_path):
    process = GuardedProcess(
        [sys.executable, "-c", "import sys; print('bye'); sys.exit(3)"], tmp_path / "log", os.environ, []
    )
    assert process.exited.wait(PATIENCE_S)
    assert process.exit_code == 3
    assert (tmp_path / "log").read_text() == "bye\n"


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_survives_a_killed_parent(parent, tmp_path, signum):
    process, pid, guard = parent()
    process.send_signal(signum)
    process.wait(PATIENCE_S)
    assert await_true(lambda: gone(pid) and gone(guard))
    assert not (tmp_path / "data").exists()


def test_no_process_survives_a_parent_that_exits(parent):
    process, pid, guard = parent()
    process.stdin.close()
    process.wait(PATIENCE_S)
    assert await_true(lambda: gone(pid) and gone(guard))


def test_a_forked_child_that_holds_the_pipe_does_not_keep_the_process_alive(parent):
    process, pid, guard = parent("fork")
    process.kill()
    process.wait(PATIENCE_S)
    assert await_true(lambda: gone(pid) and gone(guard))


def test_a_ctrl_c_in_the_terminal_does_not_reach_the_process(parent):
    process, pid, guard = parent()
    assert os.getpgid(pid) == os.getpgid(guard) == guard
    assert os.getsid(guard) != os.getsid(process.pid)


def test_the_process_ends_when_its_guard_is_killed(start):
    process = start()
    os.kill(process.guard_pid, signal.SIGKILL)
    assert process.exited.wait(PATIENCE_S)
    assert await_true(lambda: gone(process.pid))
    assert process.exit_code is None


def test_the_process_ends_when_its_guard_gets_sigterm(start):
    process = start()
    os.kill(process.guard_pid, signal.SIGTERM)
    assert process.exited.wait(PATIENCE_S)
    assert process.exit_code == -signal.SIGKILL
    assert gone(process.pid)


def test_a_guard_without_a_parent_starts_no_process(tmp_path):
    command = guard_command(["--log", str(tmp_path / "log")], SLEEPER)
    command[command.index("--parent") + 1] = "1"  # as if the parent had died before the guard's start
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("code", "status"), [("import sys; sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_with_follow_the_guard_exits_like_the_command(code, status):
    command = guard_command(["--follow"], [sys.executable, "-c", code])
    assert subprocess.run(command, timeout=PATIENCE_S, check=False).returncode == status
