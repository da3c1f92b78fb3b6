"""Texts avoid phrases that readers misunderstood; CONTRIBUTING.md ("Words", "Style") has the rules behind them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = {
    "agent": ".py",
    "alerts": ".py",
    "alerts/runbooks": ".md",
    "bench": ".py",
    "dashboards": ".py",
    "docs": ".md",
}
"""Folders of texts -> the ending of their files."""

PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "helm/rebalance-agent/values.yaml")
DATED = "docs/developers/decisions"
"""Decisions are not changed later, and so keep their wording."""

MISREAD = {
    "on top": (r"\bon top\b", "at the top, or first"),
    " anew": (r"\b(?:start|begin|join|creat|writ|read|made|assign)\w* anew\b", "again, or from the beginning"),
    "regular expression": (r"\bregular expressions? of\b", "a regular expression for, or that matches"),
    "empty text": ("empty texts?", "an empty string"),
    "made of": (r"\bmade of\b", "built from"),
    " by OTLP": (r"\bcom(?:e|es|ing) by OTLP", "arrive over OTLP"),
    " right": (
        r"\b(?:missing|grants?|lacks?|[Ww]ithout|no) (?:a |the |any )?rights?\b(?! one)|\bright to (?:read|write)\b",
        "permission: what an ACL grants",
    ),
    "says ": (r"\bsays (?:so|why|who|if|whether|what|how|which|that|nothing)\b", "contains, shows or means"),
    "whoever": ("whoever", "the member that, the client that"),
    "Of ": (r"\bOf (?:a|an|the|these|those|several|two|every|each|all)\b", "the subject first"),
    "surely": (r"\bsurely\b", "certainly"),
    "stood still": (r"\bst(?:ood|and|ands) still\b", "stalled"),
    "time for which partitions": (r"\btime for which partitions\b", "how long partitions"),
    "sidecar well": (r"\bsidecar well\b", "sidecar OK: the product's word for a part that works"),
    "nothing of": (r"\bknows? nothing of\b", "what software has not read, or needs no setting for"),
}
"""A part of each phrase -> the phrase as a regular expression, and what to write instead."""


def texts():
    """Each file with texts."""
    for folder, ending in FOLDERS.items():
        yield from (path for path in sorted((ROOT / folder).rglob(f"*{ending}")) if DATED not in path.as_posix())
    yield from (ROOT / page for page in PAGES)


def misread(text):
    """The phrases of `MISREAD` in ``text``, also across lines of comments and of strings, and what to write instead."""
    flowing = " ".join(text.split()).replace(" # ", " ").replace('" "', "").replace('" f"', "")
    for part, (phrase, instead) in MISREAD.items():
        if part in flowing:
            yield from (f"{found[0]}: {instead}" for found in re.finditer(phrase, flowing))


def test_no_text_has_a_phrase_that_was_misread():
    paths = list(texts())
    assert len(paths) > 1000
    found = {path.relative_to(ROOT).as_posix(): list(misread(path.read_text(encoding="utf-8"))) for path in paths}
    assert {path: phrases for path, phrases in found.items() if phrases} == {}


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("The worst group is on\n    # top of the page.", ["on top: at the top, or first"]),
        (
            '"a regular "\n    "expression of a name"',
            ["regular expression of: a regular expression for, or that matches"],
        ),
        ("It joins anew. `anew=True` is a name.", ["joins anew: again, or from the beginning"]),
        ("Without a right, and without the right one.", ["Without a right: permission: what an ACL grants"]),
        ('"""Of the members, one leads. Most of the members do not."""', ["Of the: the subject first"]),
        ("The text says why. A panel of the board shows it.", ["says why: contains, shows or means"]),
    ],
)
def test_a_phrase_is_found_across_lines_and_only_where_it_is_misread(text, phrases):
    assert list(misread(text)) == phrases
