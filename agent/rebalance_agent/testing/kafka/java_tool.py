"""Runs a Java command line tool under a guard, so that the tool does not outlive this process."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.java_process import guard_command, java_environment, kill_group

__all__ = ["run_java"]

_OUTPUT_TAIL = 2_000


def run_java(command: Sequence[str], timeout: float, stdin: str | None) -> subprocess.CompletedProcess[str]:
    """Run ``command`` with the input ``stdin`` for at most ``timeout`` seconds; outputs are text.

    Raises:
        BrokerError: the command did not end in time and was killed; the text has the end of its output.

    """
    with subprocess.Popen(  # noqa: S603 - our own command line
        guard_command(["--follow"], command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=java_environment(),
        start_new_session=True,  # a process group of its own, so that one signal reaches guard and Java
        text=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin or "", timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            stdout, stderr = process.communicate()
            msg = (
                f"{_main_class(command)} did not end within {timeout:g} s and was killed; its output ends:\n"
                f"{(stdout + stderr)[-_OUTPUT_TAIL:]}"
            )
            raise BrokerError(msg) from None
        except BaseException:
            kill_group(process)
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, stdout, stderr)


def _main_class(command: Sequence[str]) -> str:
    return command[command.index("-cp") + 2]
