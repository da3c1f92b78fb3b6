"""Reads the folder of evidence of a run."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from functools import cached_property
from pathlib import Path


class Folder:
    """Evidence of one run. Every property is read once."""

    def __init__(self, path):
        self.path = Path(path)

    @cached_property
    def run(self):
        """Seed and groups."""
        return json.loads((self.path / "run.json").read_text())

    @cached_property
    def acts(self):
        """The actions of the run, in order."""
        return sorted(_lines(self.path / "acts.ndjson"), key=lambda act: act["at"])

    @cached_property
    def members(self):
        """The lines of each process, by group and then by process (name and number)."""
        found = defaultdict(dict)
        for path in sorted((self.path / "members").glob("*.ndjson")):
            group, _, process = path.stem.partition("~")
            found[group][process] = list(_lines(path))
        return found

    def rows(self, name):
        """Rows of a topic, with key and value as bytes."""
        path = self.path / name
        for row in _lines(path) if path.exists() else ():
            for part in ("key", "value"):
                row[part] = None if row[part] is None else base64.b64decode(row[part])
            yield row

    def events(self, observer):
        """Rows of an observer's topic of events, as in `rows`."""
        return self.rows(f"events-{observer}.ndjson")

    @cached_property
    def topics(self):
        """Topic id -> name."""
        return json.loads(self.text("topics.json") or "{}")

    def text(self, name):
        """Return a file's text; empty if there is no file."""
        path = self.path / name
        return path.read_text(errors="replace") if path.exists() else ""


def _lines(path):
    with path.open() as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                continue  # the last line of a process that was killed
