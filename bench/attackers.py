"""Runs hostile processes during a measurement."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["attackers"]


@contextmanager
def attackers(module: str, target: str, kinds: Sequence[str], seed: int) -> Iterator[None]:
    """Run ``python -m MODULE TARGET KIND SEED`` for each of ``kinds``, and kill the processes at the end.

    Raises:
        SystemExit: an attack ended before the block did.
    """
    command = [sys.executable, "-m", module, target]
    running = [subprocess.Popen([*command, kind, str(seed)]) for kind in kinds]
    try:
        yield
    finally:
        ended = [attacker.poll() for attacker in running]
        for attacker in running:
            attacker.kill()
            attacker.wait()
        if any(code is not None for code in ended):
            raise SystemExit(f"an attack ended by itself: {dict(zip(kinds, ended, strict=True))}")
