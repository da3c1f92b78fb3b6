"""Pytest plugin: processes share a list of test files; each file runs in one of them.

Every process gets the same files and the same folder (``--share-by FOLDER``). A process claims a test file by creating
a file in that folder, named with a hash of the path, and skips files claimed by others. So the processes end at about
the same time without known durations, and fixtures of a module are created once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--share-by", type=Path, metavar="FOLDER", help="run only files that no other process has claimed")


def pytest_configure(config: pytest.Config) -> None:
    """Claim files if the option is set."""
    folder = config.getoption("--share-by")
    if folder is not None:
        config.pluginmanager.register(Claims(folder))


class Claims:
    """The test files in ``folder`` that this process and others have claimed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: dict[Path, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests of the files that this process can claim, in their order."""
        if session.testsfailed or session.config.option.collectonly:
            return None  # there are no shared files
        mine = filter(self._is_mine, session.items)
        item = next(mine, None)
        while item is not None:
            following = next(mine, None)  # fixtures that both need are not torn down in between
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following
        return True

    def _is_mine(self, item: pytest.Item) -> bool:
        if item.path not in self._mine:
            self._mine[item.path] = self._claim(item.path)
        return self._mine[item.path]

    def _claim(self, path: Path) -> bool:
        try:
            (self._folder / hashlib.sha256(bytes(path)).hexdigest()).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
