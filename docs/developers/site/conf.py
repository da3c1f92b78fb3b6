"""Sphinx's settings of the site: the Markdown of the repository as GitHub shows it, at the same relative paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).parents[3]))

from docs.developers.site.nav import INDEX, all_pages, with_contents
from docs.developers.site.repository_address import Address
from docs.developers.site.source_links import link_sources

project = "kafka-rebalance-agent"
author = project
root_doc = INDEX.removesuffix(".md")
extensions = ["myst_parser"]
include_patterns = all_pages()
# Sphinx walks all folders that it may include; these have no page, and some have many files.
exclude_patterns = [".*", "agent", "clients-java", "compose", "dashboards", "dist", "examples", "requirements", "tests"]

myst_heading_anchors = 6
myst_enable_extensions = ["strikethrough"]
myst_links_external_new_tab = False

html_theme = "furo"
html_title = project
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_permalinks_icon = "#"
pygments_style = "friendly"
pygments_dark_style = "monokai"
nitpicky = True

# The languages that Pygments does not know.
suppress_warnings = ["misc.highlighting_failure"]

REPOSITORY = Address.of(os.environ.get("REBALANCE_AGENT_REPOSITORY", ""), "HEAD")
"""Links to source code lead there. A release reads the same variable."""


class Application(Protocol):
    """The part of Sphinx that is used here."""

    def connect(self, event: str, callback: Callable[[object, str, list[str]], None]) -> object:
        """Call ``callback`` at each ``event``."""


def _read(_app: object, name: str, source: list[str]) -> None:
    """Change the Markdown of a page before it is parsed (Sphinx's event ``source-read``)."""
    page = f"{name}.md"
    source[0] = with_contents(page, link_sources(page, source[0], REPOSITORY))


def setup(app: Application) -> None:
    """Connect our change of the Markdown; Sphinx calls this once."""
    app.connect("source-read", _read)
