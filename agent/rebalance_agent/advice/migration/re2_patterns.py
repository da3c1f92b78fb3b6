"""Finds constructs in topic patterns that RE2 lacks: with the consumer protocol, brokers use RE2 (KIP-848).

This module finds constructs of Java's, librdkafka's and Python's patterns, but not every error: the broker decides.
This was measured with re2j 1.8, the library of brokers 4.3 and 4.4.
"""

from __future__ import annotations

import re

__all__ = ["not_in_re2"]

_TOKEN = re.compile(
    r"""
    (?P<quoted>\\Q.*?(?:\\E|\Z))
    | (?P<property>\\[pP]\{\^?(?P<name>[^}]*)\})
    | (?P<escape>\\.)
    | (?P<class>\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])
    | (?P<group>\(\?(?P<kind><[=!]|P[=>]|[^)<:P]?))
    | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

REPEATS_MAX = 1_000
"""The maximum repetition count in RE2."""

_GROUPS = {
    "=": "a look-ahead",
    "!": "a negative look-ahead",
    "<=": "a look-behind",
    "<!": "a negative look-behind",
    ">": "an atomic group",
    "(": "a conditional group",
    "#": "a comment",
    "P=": "a reference to a group",
    "P>": "a recursive group",
    "x": "the flag x",
    "u": "the flag u",
    "d": "the flag d",
    "'": "a group named in quotes",
}
_ESCAPES = {
    **{str(digit): "a reference to a group" for digit in range(1, 10)},
    "k": "a reference to a group",
    "g": "a reference to a group",
    "u": r"a \u escape (RE2: \x{...})",
    "Z": r"\Z (RE2: \z)",
}
_OTHER_ESCAPES = frozenset("CEGHKLMNORTUVXYceihjloqy")
"""Letters that have no meaning after a backslash in RE2, besides those of ``_ESCAPES``."""

_OCTAL = re.compile(r"\\[1-7][0-7]")
_NOT_PROPERTIES = re.compile("java|Is|In|Alpha$|Digit$|Alnum$|Upper$|Lower$|Punct$|Space$|ASCII$")


def not_in_re2(pattern: str) -> str | None:
    """Return the first construct of ``pattern`` that RE2 does not have, in words; None if none is known."""
    repeated = False
    for token in _TOKEN.finditer(pattern):
        if token["repeat"]:
            if repeated:
                return f"a repetition of a repetition, {token['repeat']}"
            if any(int(number) > REPEATS_MAX for number in re.findall(r"\d+", token["repeat"])):
                return f"more than {REPEATS_MAX} repetitions"
            repeated = True
            continue
        repeated = False
        problem = _problem(token, pattern)
        if problem:
            return problem
    return None


def _problem(token: re.Match[str], pattern: str) -> str | None:
    if token["group"]:
        return _GROUPS.get(token["kind"])
    if token["property"]:
        return f"the property {token['name']}" if _NOT_PROPERTIES.match(token["name"]) else None
    if token["class"]:
        return "an intersection of classes, &&, which RE2 reads as two characters" if "&&[" in token["class"] else None
    if not token["escape"] or _OCTAL.match(pattern, token.start()):
        return None
    letter = token["escape"][1]
    return _ESCAPES.get(letter) or (f"\\{letter}" if letter in _OTHER_ESCAPES else None)
