"""Reads the HTML of reports in tests."""

from __future__ import annotations

from html.parser import HTMLParser


class Markup(HTMLParser):
    """Counts elements, and checks that each is closed."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.figures, self.links, self.ids = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]
        self.ids += [value for name, value in attributes if name == "id"]
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
