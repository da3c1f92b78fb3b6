"""Ends a child process when the demo ends, even by SIGKILL, because the child's standard input is then closed.

``python -m rebalance_agent.demo.processes.exit_with_parent MODULE ARGUMENT...`` runs any module in such a process. The
demo's own programs call `watch_stdin` themselves and receive the lines that the demo writes to them.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from collections.abc import Callable

__all__ = ["main", "watch_stdin"]

LINE_MAX = 1_000
"""Maximum length of a line in bytes; commands such as ``slow 6`` are much shorter."""


def watch_stdin(on_line: Callable[[str], None] = lambda _line: None) -> None:
    """Read standard input in a thread: pass each line to ``on_line``; end the process at once when the input ends."""
    # A duplicate descriptor, so that the program can close or replace sys.stdin.
    descriptor = os.dup(0)
    threading.Thread(target=_watch, args=(descriptor, on_line), name="exit-with-parent", daemon=True).start()


def _watch(descriptor: int, on_line: Callable[[str], None]) -> None:
    with open(descriptor, "rb", buffering=LINE_MAX) as lines:
        while line := lines.readline(LINE_MAX):
            on_line(line.decode(errors="replace").strip())
    # Not sys.exit: when the demo has ended, a clean end of the process is not needed.
    os._exit(1)


def main() -> None:
    """Run the module named by the first argument as ``python -m`` would, after `watch_stdin`."""
    module, sys.argv = sys.argv[1], sys.argv[1:]
    watch_stdin()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
