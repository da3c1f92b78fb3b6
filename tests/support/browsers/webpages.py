"""Parses a page as a browser does, to detect names that became markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from urllib.parse import quote

__all__ = ["get", "well_formed"]

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
OPTIONAL = {"li", "p", "td", "th", "tr", "option", "tbody", "thead", "dd", "dt"}
"""Elements whose end tag may be left out."""

ADDRESSES = {"href", "src", "action", "formaction", "xlink:href"}
SCRIPTS = ["page.js"]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.problems = [], [], []

    def handle_starttag(self, tag, attrs):
        self._look(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._look(tag, attrs)

    def _look(self, tag, attrs):
        if tag == "script":
            self.scripts.append(dict(attrs).get("src"))
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.problems.append(f"<{tag} {name}>")
            if name in ADDRESSES and ":" in (value or "").split("/")[0].split("?")[0].split("#")[0]:
                self.problems.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.problems.append(f"</{tag}> within {self.open[-1:]}")


def well_formed(page):
    """Assert that tags are balanced, and that there is no handler, style, foreign address or script but `SCRIPTS`."""
    reader = _Reader()
    reader.feed(page.decode())
    reader.close()
    assert reader.problems == []
    assert not [tag for tag in reader.open if tag not in OPTIONAL]
    assert reader.scripts == SCRIPTS


def get(api, group):
    """The API's response for one group."""
    status, _, body = api(f"/api/v1/groups/{quote(group, safe='')}", "")
    assert status == "200 OK", status
    return json.loads(body)
