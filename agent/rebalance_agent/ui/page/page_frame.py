"""Writes the frame of every page, and HTML pieces that only these pages use. All text is escaped."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from rebalance_agent import __version__
from rebalance_agent.ui.svg.assets import asset
from rebalance_agent.ui.svg.pieces import table_parts
from rebalance_agent.ui.words import escaped, moment_to_second

__all__ = [
    "HTML",
    "POLICY",
    "STYLE",
    "ago",
    "cells",
    "chips",
    "frame",
    "note",
    "notes",
    "script",
    "since",
    "style",
    "unknown",
]

HTML = "text/html; charset=utf-8"
STYLE = "text/css; charset=utf-8"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy: only files of the same origin, and no inline script or style."""

_FRAME = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title} · rebalance-agent</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body data-every="{every}">
<a class="skip" href="#main">Skip to the content</a>
<header><a class="home" href="./">rebalance-agent</a>
<p id="live" role="status"></p><button id="pause" type="button" aria-pressed="false" hidden>Pause</button></header>
<main id="main" tabindex="-1">
{main}
</main>
<footer><nav aria-label="For programs">{links}</nav><p>rebalance-agent {version}</p></footer>
<div id="tip" role="status" hidden></div>
</body>
</html>
"""


def frame(title: str, main: str, links: Iterable[str], *, every_s: float) -> bytes:
    """Return a whole page. ``main``: HTML; ``links``: paths; ``every_s``: seconds between refreshes, 0: no refresh."""
    shown = "".join(f'<a href="{escaped(path.lstrip("/"))}">{escaped(path)}</a>' for path in links)
    page = _FRAME.format(title=escaped(title), main=main, links=shown, version=escaped(__version__), every=every_s)
    return page.encode("utf-8", "backslashreplace")


@functools.cache
def style() -> bytes:
    """Return the style sheet that all pages use."""
    return f"{asset('look.css')}\n{asset('page.css', __package__)}\n".encode()


@functools.cache
def script() -> bytes:
    """Return the script that all pages use."""
    return f"{asset('tips.js')}\n{asset('page.js', __package__)}\n".encode()


def ago(at_ms: int) -> str:
    """Return a moment as HTML; the script replaces the text with how long ago the moment was."""
    return f'<time data-ago="{at_ms}">{escaped(moment_to_second(at_ms))}</time>'


def since(at_ms: int, kind: str = "") -> str:
    """Return a moment as HTML; the script replaces the text with the time since then. ``kind``: the CSS class."""
    classes = f' class="{kind}"' if kind else ""
    return f'<span{classes} data-since="{at_ms}">since {escaped(moment_to_second(at_ms))}</span>'


def unknown() -> str:
    """Return the HTML for an unknown value."""
    return '<span class="unknown">unknown</span>'


def chips(facts: Iterable[tuple[str, str]]) -> str:
    """Return the HTML of a list of facts; ``facts``: pairs of a name and the HTML of its value."""
    shown = "".join(f"<div><dt>{escaped(term)}</dt><dd>{value}</dd></div>" for term, value in facts)
    return f'<dl class="tiles">{shown}</dl>'


def note(html: str, kind: str = "") -> str:
    """Return the HTML of a paragraph for a remark; ``kind``: the CSS class."""
    return f'<p class="note {kind}">{html}</p>'


def notes(remarks: Iterable[str]) -> str:
    """Return a container for notes that appear and disappear, so that the positions of later elements do not change."""
    return f'<div class="notes">{"".join(remarks)}</div>'


def cells(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table of HTML cells; the first cell of a row is its heading."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(caption)}"><table>'
        f'<caption class="sr">{escaped(caption)}</caption>{table_parts(headings, rows)}</table></div>'
    )
