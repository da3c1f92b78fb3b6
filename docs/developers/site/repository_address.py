"""Addresses of the repository's files and folders, as GitHub has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Address"]


@dataclass(frozen=True)
class Address:
    """The repository's address, and the tag or branch (``HEAD``: the default one) whose files are meant."""

    repository: str
    ref: str

    @classmethod
    def of(cls, url: str, ref: str) -> Address | None:
        """The address that ``url`` means, which may end with a slash or ``.git``; none if it is empty."""
        repository = url.rstrip("/").removesuffix(".git")
        return cls(repository, ref) if repository else None

    def file(self, path: str) -> str:
        """The page that shows a file."""
        return f"{self.repository}/blob/{self.ref}/{path}"

    def folder(self, path: str) -> str:
        """The page that lists a folder."""
        return f"{self.repository}/tree/{self.ref}/{path}"

    def page(self, path: str, root: Path) -> str:
        """The page of a file or a folder of the repository at ``root``."""
        return self.folder(path) if (root / path).is_dir() else self.file(path)

    def picture(self, path: str) -> str:
        """The bytes of a picture."""
        return f"{self.repository}/raw/{self.ref}/{path}"
