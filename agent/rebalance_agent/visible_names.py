"""Names as people read them: text that every encoding can hold, and the name that a misspelt one may be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TypeGuard

__all__ = ["did_you_mean", "is_text", "visible"]

_SURROGATE_OR_ITS_ESCAPE = re.compile(r"(\\*)(?:([\ud800-\udfff])|(?<=\\)(ud[89a-f][0-9a-f]{2}))")


def visible(name: str) -> str:
    r"""Return ``name`` with lone surrogates (a name that was not UTF-8) as escapes such as ``\ud800``.

    Two names never become the same text: backslashes before such an escape, or before text that looks like one, are
    doubled, so an odd number of them begins an escape. All other names stay as they are.
    """
    if name.isascii() and "\\" not in name:
        return name
    return _SURROGATE_OR_ITS_ESCAPE.sub(_escaped, name)


def is_text(value: object, characters_max: int) -> TypeGuard[str]:
    """Whether ``value`` is a text of at most ``characters_max`` that UTF-8 can encode, as every name in Kafka.

    JSON can also contain lone surrogates, as bytes or as escapes.
    """
    if not isinstance(value, str) or len(value) > characters_max:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of an error on an unknown ``name``: "; did you mean X?", or empty without a similar name.

    ``prefix`` comes before X, and does not count when names are compared.
    """
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


def _escaped(match: re.Match[str]) -> str:
    backslashes, surrogate, text = match.groups()
    return 2 * backslashes + (f"\\u{ord(surrogate):04x}" if surrogate else text)
