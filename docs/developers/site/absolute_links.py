"""Links and pictures of a page that work outside the repository: on PyPI, in a release's notes, on Artifact Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from docs.developers.site.nav import LINK, repository_path
from docs.developers.site.source_links import outside_code

__all__ = ["Address", "absolute_links"]


@dataclass(frozen=True)
class Address:
    """The repository's address, and the tag or branch (``HEAD``: the default one) whose files are meant."""

    repository: str
    ref: str

    def file(self, path: str) -> str:
        """The page that shows a file."""
        return f"{self.repository}/blob/{self.ref}/{path}"

    def folder(self, path: str) -> str:
        """The page that lists a folder."""
        return f"{self.repository}/tree/{self.ref}/{path}"

    def picture(self, path: str) -> str:
        """The bytes of a picture."""
        return f"{self.repository}/raw/{self.ref}/{path}"


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
            link = address.folder(path) if (root / path).is_dir() else address.file(path)
        elif target.startswith("#"):
            link = address.file(page)
        else:
            return f"{mark}[{label}]({target})"
        return f"[{label}]({link}{'#' if anchor else ''}{anchor})"

    return outside_code(text, lambda prose: LINK.sub(replaced, prose))
