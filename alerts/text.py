"""YAML that people read: keys in the order given, expressions as they were written."""

from __future__ import annotations

import yaml

__all__ = ["to_yaml"]

_HEAD = "# Written by `make alerts` from alerts/: change it there.\n"


class _Dumper(yaml.SafeDumper):
    """Indents lists, and keeps lines of text."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - the name it has
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the name it has
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def to_yaml(content: object, about: str) -> str:
    """``content`` as a file that says where it comes from, and ``about`` what is in it."""
    dumped = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return f"{_HEAD}# {about}\n{dumped}"
