"""``make release-check``: every step of a release that needs no registry, with its result and the reason.

``python tests/supply/release [STEP...]`` runs the named steps. The exit code is 0 if none failed, 1 if one failed
(or was skipped while CI=true), 2 after a wrong argument, 4 if the tools cannot be installed, 130 or 143 after an
interruption.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from rebalance_agent.clock import SystemClock
from supply.release.interpreters import VERSIONS
from supply.release.run_steps import exit_code, run_steps, summary
from supply.release.settings import REGISTRY, REPOSITORY, ROOT, Release, read_address
from supply.release.step_table import STEPS

INTERRUPTED = 130


def _step(name: str) -> str:
    if name not in {step.name for step in STEPS}:
        raise argparse.ArgumentTypeError(f"there is no step {name!r}")
    return name


def parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    names = "\n".join(f"  {step.name:<16} {step.what}{' (publishes)' if step.publishes else ''}" for step in STEPS)
    epilog = f"steps (all that do not publish run if none is named):\n{names}\n\n"
    epilog += f"{REPOSITORY}: the repository's address, such as https://github.com/OWNER/NAME\n"
    epilog += f"{REGISTRY}: the registry of images and chart, such as ghcr.io/OWNER"
    made = argparse.ArgumentParser(
        prog="python tests/supply/release",
        description=__doc__,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("steps", nargs="*", metavar="STEP", type=_step, help="see below")
    made.add_argument("--tag", default="", help="the tag of the release, such as v0.1.0 (default: a dry run)")
    made.add_argument("--folder", type=Path, default=ROOT / "dist" / "release", help="default dist/release")
    made.add_argument("--python", action="append", choices=VERSIONS, help="`install` needs this version of Python")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the steps; return the exit code."""
    options = parser().parse_args(arguments)
    try:
        address = read_address(os.environ, options.tag)
    except ValueError as error:
        parser().error(str(error))
    steps = [step for step in STEPS if (step.name in options.steps if options.steps else not step.publishes)]
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # an exception, so that the cleanup runs
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="rebalance-agent-release-", ignore_cleanup_errors=True) as scratch:
            release = Release(
                folder=options.folder.resolve(),
                scratch=Path(scratch).resolve(),
                environment=os.environ,
                address=address,
                tag=options.tag,
                pythons=options.python or (),
                say=lambda line: print(line, flush=True),
            )
            results = run_steps(steps, release, release.say, SystemClock())
    except KeyboardInterrupt:
        print("release: interrupted; unfinished files are removed", file=sys.stderr)
        return INTERRUPTED
    print(*summary(results), sep="\n", flush=True)
    code = exit_code(results, complete=os.environ.get("CI") == "true")
    if code and not exit_code(results, complete=False):
        print("release: the exit code is 1, because with CI=true a skipped step counts as failed", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
