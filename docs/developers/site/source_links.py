"""Links from pages to files of the repository that are not pages: source code, folders, configuration."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from docs.developers.site.nav import CODE, LINK, ROOT, all_pages, repository_path
from docs.developers.site.repository_address import Address

__all__ = ["link_sources", "outside_code"]

_DOWNLOADS = ("docs/", "examples/")
"""Folders whose files the site offers as downloads."""


def link_sources(page: str, text: str, repository: Address | None, root: Path = ROOT) -> str:
    """The Markdown of ``page`` with links that work on the site.

    A link to a file or a folder that is not on the site leads to its page in the ``repository``; without an address,
    only its text is left. Links to pages, pictures and downloads stay.
    """
    pages = set(all_pages(root))

    def replaced(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        path = repository_path(page, target, root)
        if path is None or path in pages or mark or (path.startswith(_DOWNLOADS) and (root / path).is_file()):
            return match[0]
        return f"[{label}]({repository.page(path, root)})" if repository else label

    return outside_code(text, lambda prose: LINK.sub(replaced, prose))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text, changed outside blocks of code and code within a line.

    Code within a link's text is part of the link: it is hidden while the text is changed.
    """
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:
        hidden.append(match[0])
        return f"\0{len(hidden) - 1}\0"

    changed = change(CODE.sub(hide, text))
    return re.sub("\0(\\d+)\0", lambda match: hidden[int(match[1])], changed)
