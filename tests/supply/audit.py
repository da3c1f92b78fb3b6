"""Finds known vulnerabilities of locked packages with pip-audit; a missing answer is an error.

pip-audit itself treats a package that is missing in the database as free of vulnerabilities, prints "No known
vulnerabilities found" and exits with 0: behind a mirror without a database, for all packages. It also has the same exit
code for findings and for an unreachable database.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

VULNERABLE = 1
UNANSWERED = 3
"""Exit codes; 2 is that of a wrong argument."""

Version = tuple[str, str]
"""Name and version of a package."""


@dataclass(frozen=True)
class Answers:
    """Known vulnerabilities of each version, a line each, and the reason for versions without an answer."""

    known: Mapping[Version, Sequence[str]]
    said: str = ""


def ask(python: str, versions: Iterable[Version], options: Sequence[str] = ()) -> Answers:
    """Run pip-audit for all of them; ``options`` are its own, such as ``--vulnerability-service osv``."""
    known, said = {}, ""
    for content in requirements(versions):
        some = _ask(python, content, options)
        known |= some.known
        said = said or some.said
    return Answers(known, said)


def _ask(python: str, content: str, options: Sequence[str]) -> Answers:
    with tempfile.TemporaryDirectory() as scratch:
        asked, report = Path(scratch) / "requirements.txt", Path(scratch) / "report.json"
        asked.write_text(content, encoding="utf-8")
        command = [python, "-m", "pip_audit", "--disable-pip", "--no-deps", "--progress-spinner=off"]
        command += ["--format=json", f"--output={report}", f"--requirement={asked}", *options]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if report.exists():
            return answers(json.loads(report.read_text(encoding="utf-8")))
        # It failed before the end, and does not print earlier results.
        return Answers({}, (done.stderr.strip().splitlines() or [""])[-1])


def requirements(versions: Iterable[Version]) -> Iterator[str]:
    """Requirement files for pip-audit without markers, because it skips packages for other systems.

    It refuses two versions of a package at once, so these are in separate files.
    """
    left = set(versions)
    while left:
        one_each = dict(sorted(left))
        yield "".join(f"{name}=={version}\n" for name, version in one_each.items())
        left -= one_each.items()


def answers(report: Mapping) -> Answers:
    """The results of a pip-audit report (``--format=json``); skipped packages have a reason and no version."""
    entries = report["dependencies"]
    known = {
        (each["name"], each["version"]): [_line(found) for found in each["vulns"]]
        for each in entries
        if "vulns" in each
    }
    return Answers(known, next((each["skip_reason"] for each in entries if "skip_reason" in each), ""))


def _line(found: Mapping) -> str:
    others = f" ({', '.join(found['aliases'])})" if found.get("aliases") else ""
    fixed = f"fixed in {', '.join(found['fix_versions'])}" if found.get("fix_versions") else "not fixed yet"
    return f"{found['id']}{others}, {fixed}"


def verdict(versions: Iterable[Version], answered: Answers) -> tuple[int, list[str]]:
    """The exit code and the messages: known vulnerabilities of ``versions``, and packages without an answer."""
    asked = sorted(set(versions))
    if not asked:
        return UNANSWERED, ["audit: no version is locked in requirements/*.lock"]
    lines = [f"{name} {version}: {line}" for name, version in asked for line in answered.known.get((name, version), ())]
    unanswered = [each for each in asked if each not in answered.known]
    if unanswered:
        some = ", ".join(" ".join(each) for each in unanswered[:3])
        lines += [
            (
                f"audit: the database of vulnerabilities gave no answer for {len(unanswered)} of {len(asked)} versions,"
                f" {'such as ' if len(unanswered) > 3 else ''}{some}: they may be good or bad"
            ),
            *([f"  pip-audit: {answered.said}"] if answered.said else []),
            "  It cannot be reached, or what answers in its place (as a mirror of packages) has no such database. Try",
            '  make audit ARGS="--vulnerability-service osv", and "--osv-url https://..." besides for one of your own',
        ]
    vulnerable = [each for each in asked if answered.known.get(each)]
    if vulnerable:
        return VULNERABLE, [*lines, f"audit: {len(vulnerable)} of {len(asked)} versions have known vulnerabilities"]
    if unanswered:
        return UNANSWERED, lines
    return 0, [f"audit: nothing is known against {len(asked)} versions"]
