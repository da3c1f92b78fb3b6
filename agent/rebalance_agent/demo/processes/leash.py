"""Ends a process when the demo is gone, however it went: the far end of its standard input closes.

``python -m rebalance_agent.demo.processes.leash MODULE ARGUMENT...`` runs any module as a program on such a leash; the
demo's own programs call `hold` themselves, and get the lines that the demo writes to them.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from collections.abc import Callable

__all__ = ["hold", "main"]

LINE_MAX = 1_000
"""Bytes of an order: ``slow 6`` and the like."""


def hold(on_line: Callable[[str], None] = lambda _line: None) -> None:
    """Watch standard input in a thread: pass on each line, end the process at once when the input ends."""
    # A descriptor of its own: the program may do with sys.stdin what it wants.
    descriptor = os.dup(0)
    threading.Thread(target=_watch, args=(descriptor, on_line), name="leash", daemon=True).start()


def _watch(descriptor: int, on_line: Callable[[str], None]) -> None:
    with open(descriptor, "rb", buffering=LINE_MAX) as lines:
        while line := lines.readline(LINE_MAX):
            on_line(line.decode(errors="replace").strip())
    # Not sys.exit: nobody is left who would want what a clean end takes time for.
    os._exit(1)


def main() -> None:
    """Run the module named by the first argument as ``python -m`` would, on the leash."""
    module, sys.argv = sys.argv[1], sys.argv[1:]
    hold()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
