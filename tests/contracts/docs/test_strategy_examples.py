"""The outputs of ``rebalance-agent assign`` on the strategies' pages are current."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rebalance_agent.cli.main import main

PAGES = {page.stem: page for page in (Path(__file__).parents[3] / "docs" / "strategies").glob("*.md")}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page].read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


SESSIONS = [name for name in sorted(PAGES) if blocks(name, "console")]
"""Pages with a console: ``cat group.json``, then commands whose output ``jq`` filters."""

PAIRS = [name for name in sorted(PAGES) if blocks(name, "json")]
"""Pages with a group, a command, and a part of its output."""


@pytest.fixture
def assign(tmp_path, monkeypatch, capsys):
    """Run a page's command on a group of JSON."""
    monkeypatch.chdir(tmp_path)

    def run(command, group):
        (tmp_path / "group.json").write_text(group, encoding="utf-8")
        name, *arguments = shlex.split(command)
        assert name == "rebalance-agent"
        code = main(arguments)
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, "")
        return json.loads(printed.out)

    return run


def jq(expression, value):
    """The lines that ``jq -c`` prints for paths such as ``.quality.moved``, separated by commas."""
    for path in expression.split(","):
        found = value
        for key in path.removeprefix(".").split("."):
            found = found[key]
        yield json.dumps(found, separators=(",", ":"))


def test_pages_with_outputs_are_found():
    assert len(SESSIONS) >= 4
    assert len(PAIRS) >= 2


@pytest.mark.parametrize("page", SESSIONS)
def test_consoles_show_the_real_output(assign, page):
    (session,) = blocks(page, "console")
    cat, *steps = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    shown, _, group = cat.partition("\n")
    assert shown == "cat group.json"
    assert steps
    for step in steps:
        line, _, answer = step.partition("\n")
        command, _, expression = line.partition(" | jq -c ")
        assert "\n".join(jq(expression, assign(command, group))) + "\n" == answer


def commands(page):
    return re.findall(r"`(rebalance-agent assign [^`]+)`", PAGES[page].read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAIRS)
def test_parts_of_outputs_are_real(assign, page):
    group, answer, *_ = blocks(page, "json")
    (command,) = commands(page)
    shown, printed = json.loads(answer), assign(command, group)
    assert shown == {key: printed[key] for key in shown}


def test_a_standby_takes_over_as_documented(assign):
    group, before, after = (json.loads(block) for block in blocks("copartitioned-sticky", "json"))
    stays = [member for member in group["members"] if member["id"] != "m2"]
    for member in stays:
        owned, copies = (before[part][member["id"]] for part in ("assignment", "standbys"))
        member.update(owned=owned, standbys=copies, generation=1)
    (command,) = commands("copartitioned-sticky")
    printed = assign(command, json.dumps({**group, "members": stays}))
    assert after == {key: printed[key] for key in after}
