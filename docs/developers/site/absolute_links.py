"""Links and pictures of a page that work outside the repository: on PyPI, in a release's notes, on Artifact Hub."""

from __future__ import annotations

import re
from pathlib import Path

from docs.developers.site.nav import LINK, repository_path
from docs.developers.site.repository_address import Address
from docs.developers.site.source_links import outside_code

__all__ = ["absolute_links"]


def absolute_links(page: str, text: str, address: Address, root: Path) -> str:
    """The Markdown of ``page`` (its path in the repository at ``root``) with absolute links and pictures.

    Raises:
        ValueError: a link leaves the repository.

    """

    def replaced(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        label = LINK.sub(replaced, label)
        path, anchor = repository_path(page, target, root), target.partition("#")[2]
        if path == "..":
            raise ValueError(f"{page}: the link to {target} leaves the repository")
        if mark and path:
            return f"![{label}]({address.picture(path)})"
        if path:
            link = address.page(path, root)
        elif target.startswith("#"):
            link = address.file(page)
        else:
            return f"{mark}[{label}]({target})"
        return f"[{label}]({link}{'#' if anchor else ''}{anchor})"

    return outside_code(text, lambda prose: LINK.sub(replaced, prose))
