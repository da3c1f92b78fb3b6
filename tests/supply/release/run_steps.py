"""Runs steps in order and reports the result of each with its reason.

A failed step does not stop the others: one run shows everything that is wrong. A step that needs the result of a failed
step does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rebalance_agent.clock import Clock

Release = TypeVar("Release")

PASSED, SKIPPED, FAILED = "passed", "skipped", "FAILED"


class StepError(Exception):
    """A step failed; the text is the reason."""


class SkippedError(Exception):
    """A step cannot run on this machine; the text is the reason."""


@dataclass(frozen=True)
class Step(Generic[Release]):
    """A step: its name, what it does, its function, and the steps whose results it needs.

    The function returns what it found or made, in one line. ``publishes``: it changes a registry or the release page,
    so it runs only if it is named.
    """

    name: str
    what: str
    run: Callable[[Release], str]
    needs: Sequence[str] = ()
    publishes: bool = False


@dataclass(frozen=True)
class Result:
    """The result of a step: `PASSED`, `SKIPPED` or `FAILED`, the reason, and the duration in seconds."""

    name: str
    status: str
    reason: str
    seconds: float = 0.0


def run_steps(
    steps: Iterable[Step[Release]], release: Release, say: Callable[[str], None], clock: Clock
) -> list[Result]:
    """Run ``steps`` and return their results; each is announced before it starts."""
    results: dict[str, Result] = {}
    for step in steps:
        missing = [need for need in step.needs if need in results and results[need].status != PASSED]
        if missing:
            results[step.name] = Result(step.name, results[missing[0]].status, f"needs {', '.join(missing)}")
        else:
            say(f"{step.name}: {step.what} ...")
            results[step.name] = _run(step, release, clock)
        say(_line(results[step.name]))
    return list(results.values())


def _run(step: Step[Release], release: Release, clock: Clock) -> Result:
    started = clock.monotonic()
    try:
        status, reason = PASSED, step.run(release)
    except SkippedError as error:
        status, reason = SKIPPED, str(error)
    except (StepError, OSError, ValueError) as error:
        status, reason = FAILED, str(error)
    return Result(step.name, status, reason, clock.monotonic() - started)


def _line(result: Result) -> str:
    return f"{result.status:<8} {result.name:<12} {result.seconds:5.1f} s  {result.reason}"


def summary(results: Sequence[Result]) -> list[str]:
    """The last lines of a run: a line for each step, and one that counts."""
    counts = ", ".join(
        f"{sum(each.status == status for each in results)} {status.lower()}" for status in (PASSED, SKIPPED, FAILED)
    )
    return ["", *map(_line, results), f"release: {counts}"]


def exit_code(results: Iterable[Result], *, complete: bool) -> int:
    """1 if a step failed, otherwise 0. ``complete``: a skipped step counts as failed."""
    failures = (FAILED, SKIPPED) if complete else (FAILED,)
    return int(any(result.status in failures for result in results))
