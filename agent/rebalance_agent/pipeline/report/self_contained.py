"""Builds a page that loads no other files: it contains its style sheet and its script, and no other script may run."""

from __future__ import annotations

import base64
import hashlib

from rebalance_agent.ui.words import escaped

__all__ = ["self_contained"]


def self_contained(title: str, body: str, *, style: str, script: str) -> str:
    """Return a whole HTML document; ``body`` is HTML.

    The page's Content-Security-Policy allows only ``script`` (identified by digest). So a script in a name could not
    run even if the name were not escaped.
    """
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escaped(title)}</title><style>{style}</style>"
    )
    shown = f'{body}<div id="tip" role="status" hidden></div><script>{script}</script>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{shown}</body></html>\n'


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    script_only = f"script-src 'sha256-{digest}'"
    return f"default-src 'none'; style-src 'unsafe-inline'; {script_only}; base-uri 'none'; form-action 'none'"
