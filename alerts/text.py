"""Writes readable YAML: keys in the given order, expressions on several lines."""

from __future__ import annotations

import yaml

__all__ = ["to_yaml"]

_HEAD = "# Generated from alerts/ by `make alerts`.\n"


class _Dumper(yaml.SafeDumper):
    """Indents lists, and keeps line breaks in texts."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - the name it has
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the name it has
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def to_yaml(content: object, about: str) -> str:
    """Return ``content`` as YAML, after a comment with its source and a comment with ``about``."""
    dumped = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return f"{_HEAD}# {about}\n{dumped}"
