"""The inputs of a release, and where its files are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from docs.developers.site.repository_address import Address

import rebalance_agent
from supply.release.run_program import run_program
from supply.release.run_steps import SkippedError, StepError
from supply.release.staging import stage

ROOT = Path(__file__).parents[3]

REPOSITORY = "REBALANCE_AGENT_REPOSITORY"
"""Environment variable with the public address of the repository, such as ``https://github.com/OWNER/NAME``."""

REGISTRY = "REBALANCE_AGENT_REGISTRY"
"""Environment variable with the registry of images and chart, such as ``ghcr.io/OWNER``."""

NOT_SET = f"{REPOSITORY} is not set"

NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""Variables that would make programs import this checkout instead of what is installed."""


def read_address(environment: Mapping[str, str], tag: str) -> Address | None:
    """Where the release's files can be read: from `REPOSITORY`; none if it is not set.

    Raises:
        ValueError: it is not the address of a repository on the web.

    """
    address = Address.of(environment.get(REPOSITORY, ""), tag or "HEAD")
    if address and not re.fullmatch(r"https://[\w.-]+(:\d+)?(/[\w.-]+){2,}", address.repository):
        raise ValueError(f"{REPOSITORY} must be like https://github.com/OWNER/NAME, not {address.repository!r}")
    return address


@dataclass
class Release:
    """The inputs of the steps.

    ``folder`` keeps the results, ``scratch`` is removed at the end. ``address``: where the release's files can be read,
    if it is known. ``tag`` is empty in a dry run. ``pythons``: the versions of Python that must be there; empty: those
    that are found. ``say`` prints a line of progress.
    """

    folder: Path
    scratch: Path
    environment: Mapping[str, str]
    address: Address | None = None
    tag: str = ""
    pythons: Sequence[str] = ()
    say: Callable[[str], None] = print
    version: str = field(default=rebalance_agent.__version__)

    @property
    def registry(self) -> str:
        """The registry with the owner's path, in lower case as registries require it; empty if it is not known."""
        return self.environment.get(REGISTRY, "").strip("/").lower()

    @cached_property
    def staged(self) -> Path:
        """A copy of the checkout's files, with absolute links where the address is known."""
        tracked = self.run("git", "ls-files", "-z", folder=ROOT).split("\0")
        return stage(ROOT, filter(None, tracked), self.scratch / "staged", self.address, self.registry)

    def built(self, pattern: str) -> Path:
        """The result of an earlier step in ``folder``.

        Raises:
            StepError: there is none, or more than one.

        """
        found = sorted(self.folder.glob(pattern))
        if len(found) != 1:
            raise StepError(f"{self.folder} has {len(found)} files {pattern} and not one: run the step that makes it")
        return found[0]

    def run(self, *command: str | Path, folder: Path | None = None, **variables: str) -> str:
        """Run a program and return its output. It ends if this process is interrupted.

        Raises:
            SkippedError: the program is not installed.
            StepError: it failed; the text has the last lines of its output.

        """
        kept = {name: value for name, value in self.environment.items() if name not in NOT_PASSED_ON}
        environment = kept | {"TMPDIR": str(self.scratch)}  # what an interrupted program leaves is removed, too
        try:
            done = run_program([str(part) for part in command], folder or self.scratch, environment | variables)
        except FileNotFoundError:
            raise SkippedError(f"{command[0]} is not installed") from None
        if done.returncode:
            lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            name = " ".join([Path(command[0]).name, *(str(part) for part in command[1:3])])
            raise StepError(f"{name} failed: {' / '.join(lines[-4:]) or f'exit code {done.returncode}'}")
        return done.stdout

    def output(self, **values: str) -> None:
        """Pass values to later steps of the workflow (``GITHUB_OUTPUT``); print them in a checkout."""
        lines = "".join(f"{name}={value}\n" for name, value in values.items())
        if path := self.environment.get("GITHUB_OUTPUT"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(lines)
        self.say(f"  {lines.strip()}")
