"""The page at ``/``: who is here, is it well, and where to go on."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from rebalance_agent import __version__

__all__ = ["landing_page"]

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>rebalance-agent</title>
<style>body{{font:16px/1.5 sans-serif;margin:2em}}td{{padding-right:1em}}</style>
<h1>rebalance-agent {version}</h1>
<p>{ready}</p>
<table>{parts}</table>
<ul>{links}</ul>
</html>
"""


def landing_page(reasons: Mapping[str, str | None], paths: Iterable[str]) -> bytes:
    """HTML with the version, each part with its reason where it is not ready, and a link to each path."""
    rows = (f"<tr><td>{_text(part)}<td>{_text(reason or 'ready')}</tr>" for part, reason in reasons.items())
    links = (f'<li><a href="{_text(path)}">{_text(path)}</a></li>' for path in paths)
    ready = "Not ready." if any(reasons.values()) else "Ready."
    return _PAGE.format(version=_text(__version__), ready=ready, parts="".join(rows), links="".join(links)).encode(
        "utf-8", "backslashreplace"
    )


def _text(text: str) -> str:
    return html.escape(text)
