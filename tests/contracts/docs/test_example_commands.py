"""Commands in the documentation that run an example program use only flags that the program has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from docs.developers.site.nav import ROOT, all_pages

COMMAND = re.compile(r"^.*?\bpython3? (examples/\w+\.py)((?:.*\\\n)*.*)$", re.MULTILINE)
FLAG = re.compile(r"add_argument\(\s*\"(--[\w-]+)\"")

CREATES = ("aiokafka_weighted",)
"""The programs that can create their topic; pages that mention the flag name only these."""


def unknown_flags(text, root=ROOT):
    """Each command that has a flag which its program does not have, with this flag."""
    for program, words in COMMAND.findall(text):
        flags = FLAG.findall((root / program).read_text(encoding="utf-8"))
        used = [word.partition("=")[0] for word in shlex.split(words.replace("\\\n", " ")) if word.startswith("--")]
        yield from (f"{program} {flag}" for flag in used if flag not in flags)


def test_commands_use_flags_of_the_program():
    pages = {page: (ROOT / page).read_text(encoding="utf-8") for page in all_pages()}
    assert any(COMMAND.search(text) for text in pages.values())
    assert {page: found for page, text in pages.items() if (found := list(unknown_flags(text)))} == {}


def test_only_the_named_programs_can_create_their_topic():
    programs = sorted(Path(ROOT / "examples").glob("*.py"))
    assert len(programs) > 5
    creating = [path.stem for path in programs if "--create" in FLAG.findall(path.read_text(encoding="utf-8"))]
    assert creating == list(CREATES)
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "With `--create`, the aiokafka program" in words


def test_a_flag_that_the_program_lacks_is_found():
    text = "   $ python examples/confluent_weighted.py --topic t \\\n --create --seconds=3\n"
    assert list(unknown_flags(text)) == ["examples/confluent_weighted.py --create"]
