"""ARCHITECTURE.md maps every package in the order of the import contract, and all its paths exist.

The paths in CONTRIBUTING.md exist, too, and both pages name the same files of each change. Every rule is a function
over a text, so the last tests show that each rule can fail.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "agent" / "rebalance_agent"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("*/__init__.py")}

SUFFIXES = "cfg|ci|html|json|lock|md|ndjson|py|svg|toml|txt|yaml"
PATHS = re.compile(rf"`((?:[\w.<>*-]+/)+[\w.<>*-]*|[\w.-]+\.(?:{SUFFIXES}))`|(?<![\w/])(tests/[\w./-]+\w)")
"""Text in backticks with a slash or a file's suffix, and paths of tests in commands."""

LINKED = re.compile(r"\]\(([^)]+)\)|`([^`]*<[^`]*)`")
"""Targets of links, and patterns of paths in backticks."""

BELOW = "agent/rebalance_agent/"
WRITTEN_BY_USERS = {"report.html"}
NO_FILES = {"text/plain"}


def section(text, title):
    """The text under a heading."""
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]


def drawn(text):
    """The picture's lines, each as its names."""
    (picture,) = re.findall(r"^```text\n(.*?)^```$", section(text, "Picture"), re.DOTALL | re.MULTILINE)
    return [re.split(r" {2,}", line)[0].split(" | ") for line in picture.splitlines()]


def mapped(text):
    """The packages of the map's rows in order, with their sentences."""
    return re.findall(r"^\| \[`([\w/]+)`\]\(agent/rebalance_agent/\1\) \| (.+) \|$", section(text, "Map"), re.MULTILINE)


def contract(wanted):
    """The first import contract for which ``wanted`` is true."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return next(each for each in settings["tool"]["importlinter"]["contracts"] if wanted(each))


def layers():
    """The first import contract's layers, each as the names that share it."""
    rooms = contract(lambda each: each["type"] == "layers" and "rebalance_agent.cli" in each["layers"])
    return [[name.removeprefix("rebalance_agent.") for name in layer.split(" | ")] for layer in rooms["layers"]]


def lost(text, *, below=()):
    """Paths that the text names and that are neither in the repository nor in one of the folders ``below`` it."""
    for match in PATHS.finditer(text):
        path = match[1] or match[2]
        pattern = re.sub(r"<[^>]*>", "*", path.rstrip("/"))
        if path not in {*WRITTEN_BY_USERS, *NO_FILES} and not any(
            next(iter(folder.glob(pattern)), None) for folder in (ROOT, *below)
        ):
            yield path


def test_every_package_is_in_the_map_once_and_every_row_is_a_package():
    assert sorted(package for package, _ in mapped(ARCHITECTURE)) == sorted(PACKAGES)


def test_every_row_of_the_map_has_a_sentence():
    assert [package for package, sentence in mapped(ARCHITECTURE) if not re.fullmatch(r"[A-Z].*\.", sentence)] == []


def test_the_picture_has_the_layers_of_the_import_contract_in_their_order():
    assert drawn(ARCHITECTURE) == layers()


def test_every_package_and_module_at_the_top_is_in_the_picture():
    top = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {name for line in drawn(ARCHITECTURE) for name in line} == top - {"__init__"}


def test_http_imports_only_independent_modules_of_the_package():
    forbidden = set(contract(lambda each: each["name"].startswith("HTTP imports"))["forbidden_modules"])
    everything = {f"rebalance_agent.{name}" for line in layers() for name in line}
    allowed = ("http", "errors", "clock", "health", "regular_files")
    assert everything - forbidden == {f"rebalance_agent.{name}" for name in allowed}


@pytest.mark.parametrize(
    ("text", "below"),
    [(ARCHITECTURE, (PACKAGE,)), (CONTRIBUTING, ())],
    ids=["architecture", "contributing"],
)
def test_every_named_path_exists(text, below):
    assert list(lost(text, below=below)) == []
    assert len(PATHS.findall(text)) > 50


def test_a_walk_leads_through_files_only():
    walks = [
        part for part in re.split(r"^## ", ARCHITECTURE, flags=re.MULTILINE) if " becomes a " in part.partition("\n")[0]
    ]
    assert len(walks) == 4
    for walk in walks:
        steps = re.split(r"^\d+\. ", walk.partition("\n")[2], flags=re.MULTILINE)[1:]
        assert len(steps) >= 8
        assert [step for step in steps if not re.search(r"\[`[\w/]+\.py`\]\(agent/rebalance_agent/", step)] == []


CHANGES = [title for title in re.findall(r"^## (.*)$", CONTRIBUTING, re.MULTILINE) if title.startswith("Add a")]


def listed(architecture):
    """The lists of files: the anchor of a change -> its list."""
    text = section(architecture, "The files of a change")
    parts = re.split(r"^\*\*To add .*\(CONTRIBUTING\.md#([\w-]+)\)\*\*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def linked_files(files):
    """The files that are always edited, and all files, of a list in ARCHITECTURE.md."""
    always, rarely = re.search(r"^Always:$(.*?)^Only if:$(.*)", files, re.DOTALL | re.MULTILINE).groups()
    paths = [{link or path for link, path in re.findall(LINKED, part)} for part in (always, always + rarely)]
    return [{path.removeprefix(BELOW) for path in each} for each in paths]


def named_files(steps):
    """The files that are always edited, and all files, of a section of CONTRIBUTING.md."""
    parts = re.search(r"^\*\*Always\*\*$(.*?)^\*\*Only if\*\*$(.*?)^\*\*Then\*\*", steps, re.DOTALL | re.MULTILINE)
    always, rarely = parts.groups()
    return [
        {(match[1] or match[2]).removeprefix(BELOW) for match in PATHS.finditer(part)}
        for part in (always, always + rarely)
    ]


def test_every_change_has_a_list_in_the_order_of_contributing():
    assert list(listed(ARCHITECTURE)) == [title.lower().replace(" ", "-") for title in CHANGES]


@pytest.mark.parametrize("title", CHANGES)
def test_the_files_of_a_change_are_those_of_contributing(title):
    always, every = linked_files(listed(ARCHITECTURE)[title.lower().replace(" ", "-")])
    assert len(always) >= 5
    assert [always, every] == named_files(section(CONTRIBUTING, title))


def test_every_module_that_imports_others_by_name_is_named():
    importing = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bimport_module\(|\bentry\.load\(\)", path.read_text(encoding="utf-8"))
    }
    paragraph = next(each for each in section(ARCHITECTURE, "Picture").split("\n\n") if "by name" in each)
    assert set(re.findall(r"`([\w/]+\.py)`", paragraph)) == importing


def test_a_removed_package_and_one_without_a_row_are_detected():
    text = (
        "## Map\n\n| [`api`](agent/rebalance_agent/api) | It. |\n| [`gone`](agent/rebalance_agent/gone) | Is gone. |\n"
    )
    assert mapped(text) == [("api", "It."), ("gone", "Is gone.")]
    assert mapped("## Map\n\n| [`api`](agent/rebalance_agent/ui) | Leads elsewhere. |\n") == []


def test_another_order_is_detected():
    assert drawn("## Picture\n\n```text\nb | c    words\na        words\n```\n") == [["b", "c"], ["a"]]
    assert drawn(re.sub(r"^demo\b.*\n", "", ARCHITECTURE, flags=re.MULTILINE)) != layers()


def test_a_removed_path_is_detected():
    text = "`docs/gone.md` `docs/events.md` `alerts/<name>.py` `alerts/<gone>.go` `gone.py` `Makefile` tests/gone"
    assert list(lost(text)) == ["docs/gone.md", "alerts/<gone>.go", "gone.py", "tests/gone"]
    assert list(lost("`tracker.py` `tracking/tracker.py`", below=[PACKAGE])) == ["tracker.py"]


def test_a_file_that_only_one_of_both_pages_names_is_detected():
    steps = (
        "**Always**\n\n1. `docs/a.md`: `x/<name>.py`\n\n**Only if**\n\n| b | `docs/b.md` |\n\n**Then** `docs/c.md`\n"
    )
    files = "Always:\n\n- [a](docs/a.md), `x/<name>.py`\n\nOnly if:\n\n- [b](docs/b.md)\n"
    assert (
        linked_files(files)
        == named_files(steps)
        == [{"docs/a.md", "x/<name>.py"}, {"docs/a.md", "x/<name>.py", "docs/b.md"}]
    )
    assert linked_files(files.replace("a.md", "d.md")) != named_files(steps)
    assert linked_files(files.replace("b.md", "d.md")) != named_files(steps)
    assert linked_files(files) != named_files(steps.replace("**Only if**", "2. `docs/d.md`\n\n**Only if**"))
