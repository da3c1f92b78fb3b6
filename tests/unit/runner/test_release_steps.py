"""A release's steps report results and reasons, publish nothing without a tag, and leave no files behind."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
import yaml
from docs.developers.site.absolute_links import absolute_links
from docs.developers.site.repository_address import Address

from rebalance_agent.clock import FakeClock
from supply.release import command
from supply.release.agreement import NOTES_MAX, section, shorten, write_notes
from supply.release.chart_metadata import CHART, filled, problems
from supply.release.interpreters import interpreter
from supply.release.run_program import run_program
from supply.release.run_steps import SkippedError, Step, StepError, exit_code, run_steps, summary
from supply.release.settings import ROOT, Release, read_address
from supply.release.step_table import STEPS

ADDRESS = Address("https://code.example/owner/name", "v1.2.3")
CHART_YAML = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text(encoding="utf-8"))
COMPLETE = filled(CHART_YAML, ADDRESS, "registry.example")


def raising(error):
    def run(_release):
        raise error

    return run


def test_each_step_has_a_result_and_a_reason_and_a_failure_stops_only_what_needs_it():
    steps = (
        Step("a", "first", lambda release: f"made {release}"),
        Step("b", "second", raising(StepError("no b"))),
        Step("c", "third", raising(SkippedError("no docker"))),
        Step("d", "fourth", lambda _: "d", needs=("a", "b")),
        Step("e", "fifth", lambda _: "e", needs=("c",)),
        Step("f", "sixth", raising(OSError("disk full"))),
    )
    said = []
    results = run_steps(steps, "it", said.append, FakeClock())
    assert [(each.name, each.status, each.reason) for each in results] == [
        ("a", "passed", "made it"),
        ("b", "FAILED", "no b"),
        ("c", "skipped", "no docker"),
        ("d", "FAILED", "needs b"),
        ("e", "skipped", "needs c"),
        ("f", "FAILED", "disk full"),
    ]
    assert said[0] == "a: first ..."
    assert not any(line.startswith("d:") for line in said)
    assert summary(results)[-1] == "release: 1 passed, 2 skipped, 3 failed"
    assert exit_code(results, complete=False) == 1
    others = [each for each in results if each.status != "FAILED"]
    assert (exit_code(others, complete=False), exit_code(others, complete=True)) == (0, 1)


def test_an_interrupted_run_leaves_no_scratch_files(monkeypatch, tmp_path, capsys):
    def interrupted(release):
        (release.scratch / "half").write_text("x")
        seen.append(release.scratch)
        raise KeyboardInterrupt

    seen = []
    monkeypatch.setattr(command, "STEPS", (Step("a", "first", interrupted),))
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    assert command.main(["--folder", str(tmp_path)]) == command.INTERRUPTED
    assert not seen[0].exists()
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupted_program_ends_with_its_children(monkeypatch, tmp_path):
    """The grandchild holds the pipe open; its end closes the pipe."""

    def interrupted(_process):
        assert os.read(reader, 1) == b"\n"
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    script = f"{{ echo; exec sleep 300; }} >/proc/{os.getpid()}/fd/{writer} & wait"
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", script], tmp_path, {"PATH": os.environ["PATH"]})
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_run_without_names_publishes_nothing(monkeypatch, tmp_path):
    ran = []
    steps = tuple(
        Step(step.name, "", lambda _, name=step.name: ran.append(name) or "", (), step.publishes) for step in STEPS
    )
    monkeypatch.setattr(command, "STEPS", steps)
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    assert command.main(["--folder", str(tmp_path)]) == 0
    assert ran == [step.name for step in STEPS if not step.publishes]


@pytest.mark.parametrize("name", [step.name for step in STEPS if step.publishes])
def test_nothing_is_published_without_a_tag(name, tmp_path):
    (step,) = (step for step in STEPS if step.name == name)
    release = Release(tmp_path, tmp_path, {"PATH": ""}, ADDRESS)
    with pytest.raises(StepError, match="publishing needs"):
        step.run(release)


def test_a_failed_program_is_named_with_its_last_lines(tmp_path):
    release = Release(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin", "PYTHONPATH": "x"})
    assert release.run("sh", "-c", 'echo "[$PYTHONPATH]"') == "[]\n"
    with pytest.raises(StepError, match=r"^sh -c .* failed: one / two$"):
        release.run("sh", "-c", "echo one; echo two >&2; exit 3")
    with pytest.raises(SkippedError, match="no-such-program is not installed"):
        release.run("no-such-program")
    with pytest.raises(StepError, match="has 0 files"):
        release.built("*.whl")


def test_links_become_absolute_once_and_code_stays():
    text = "[a](docs/README.md#x) ![b](docs/images/demo.svg) [c](tests) [d](#y) [e](https://e.example) `[f](f.md)`\n"
    text += "[`g\nh`](LICENSE)\n```\n[i](i.md)\n```\n"
    once = absolute_links("README.md", text, ADDRESS, ROOT)
    base = "https://code.example/owner/name"
    assert once == (
        f"[a]({base}/blob/v1.2.3/docs/README.md#x) ![b]({base}/raw/v1.2.3/docs/images/demo.svg) "
        f"[c]({base}/tree/v1.2.3/tests) [d]({base}/blob/v1.2.3/README.md#y) [e](https://e.example) `[f](f.md)`\n"
        f"[`g\nh`]({base}/blob/v1.2.3/LICENSE)\n```\n[i](i.md)\n```\n"
    )
    assert absolute_links("README.md", once, ADDRESS, ROOT) == once
    with pytest.raises(ValueError, match="leaves the repository"):
        absolute_links("README.md", "[a](../b)", ADDRESS, ROOT)


@pytest.mark.parametrize("url", ["github.com/a/b", "http://github.com/a/b", "https://github.com/a", "https://h/a/b c"])
def test_an_address_that_is_no_repository_is_refused(url):
    with pytest.raises(ValueError, match="must be like"):
        read_address({"REBALANCE_AGENT_REPOSITORY": url}, "")


def test_an_address_has_the_tag_or_the_default_branch():
    environment = {"REBALANCE_AGENT_REPOSITORY": "https://github.com/a/b.git"}
    assert read_address(environment, "v1") == Address("https://github.com/a/b", "v1")
    assert read_address(environment, "") == Address("https://github.com/a/b", "HEAD")
    assert read_address({}, "v1") is None


def test_notes_that_are_too_long_end_with_a_whole_entry_and_a_link():
    entry = "- An entry\n  of two lines."
    notes = "\n".join([entry] * (NOTES_MAX // len(entry)))
    kept, link = shorten(notes, "CHANGELOG.md").rsplit("\n\n", 1)
    assert (len(kept) > NOTES_MAX - 100, len(f"{kept}\n\n{link}") <= NOTES_MAX) == (True, True)
    assert kept.endswith(entry)
    assert link == "The [changelog](CHANGELOG.md) has all entries."
    assert shorten(entry, "CHANGELOG.md") == entry


def test_the_changelog_gives_notes_that_are_accepted(tmp_path):
    write_notes(Release(tmp_path, tmp_path, {}, ADDRESS))
    assert 1_000 < len((tmp_path / "notes.md").read_text(encoding="utf-8")) <= NOTES_MAX


def test_a_versions_section_ends_at_the_next():
    text = "# Changelog\n\n## Unreleased\n\n## 1.1.0 - 2026-01-02\n\n- b\n\n### c\n\n## 1.0.0\n- a\n"
    assert section(text, "1.1.0") == "- b\n\n### c"
    assert section(text, "1.0.0") == "- a"
    assert section(text, "Unreleased") is None
    assert section(text, "1.1") is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"maintainers": []}, "maintainers need"),
        ({"home": "docs/README.md"}, "home is missing"),
        ({"sources": []}, "sources is missing"),
        ({"icon": None}, "icon is missing"),
        ({"version": "1"}, "not a semantic version"),
        ({"version": "1.0.0"}, 'prerelease must be "false"'),
        ({"appVersion": "9.9.9"}, "not the tag of appVersion"),
        ({"keywords": []}, "keywords is missing"),
        ({"artifacthub.io/prerelease": "false"}, 'prerelease must be "true"'),
        ({"artifacthub.io/category": "kafka"}, "category kafka is not"),
        ({"artifacthub.io/license": ""}, "license is missing"),
        ({"artifacthub.io/links": "[{url: 'https://a.example/b'}]"}, "links is missing"),
        ({"artifacthub.io/screenshots": "[{title: a, url: docs/a.png}]"}, "screenshots is missing"),
        ({"artifacthub.io/screenshot": "[]"}, "unknown annotations: screenshot"),
    ],
)
def test_what_artifact_hub_would_miss_is_found(change, problem):
    notes = {name: value for name, value in change.items() if "/" in name}
    own = {name: value for name, value in change.items() if "/" not in name}
    assert problems(COMPLETE, with_links=True) == []
    found = problems({**COMPLETE, **own, "annotations": COMPLETE["annotations"] | notes}, with_links=True)
    assert any(problem in each for each in found), found


def test_an_inactive_shim_is_no_interpreter(tmp_path):
    def program(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    program(tmp_path / "shims" / "python3.12", "echo 'command not found' >&2; exit 127")
    environment = {"PATH": f"{tmp_path}/shims:/nowhere"}
    assert interpreter("3.12", environment) is None
    program(tmp_path / "versions" / "3.12.0" / "bin" / "python", "echo 3.11")
    assert interpreter("3.12", environment) is None
    right = program(tmp_path / "versions" / "3.12.1" / "bin" / "python", "echo 3.12")
    assert interpreter("3.12", environment) == right
    assert interpreter("3.12", {"PATH": "", "PYENV_ROOT": str(tmp_path)}) == right
    on_path = program(tmp_path / "bin" / "python3.12", "echo 3.12")
    assert interpreter("3.12", {"PATH": f"{tmp_path}/bin:{tmp_path}/shims"}) == on_path


def test_the_version_of_a_step_table_is_unique():
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    assert {need for step in STEPS for need in step.needs} <= set(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name)] == []
