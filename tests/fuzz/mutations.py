"""Mutations that break parsers: lengths, counts, extreme numbers, and parts moved, doubled or removed; also in JSON.

Everything depends on a ``random.Random``: the same seed gives the same damage.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Sequence

__all__ = ["mutated"]

NUMBERS = {
    1: (0, 1, 2, 0x7F, 0x80, 0xFF),
    2: (0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF),
    4: (0, 1, 5, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x00FF_FFFF),
    8: (0, 1, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 1 << 53),
}
"""Size of a number field in bytes -> critical values for it."""

TEXTS = (
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"\\", b"\n", b"<script>alert(1)</script>", b"'; rm -rf / #",
    b"${x}", b"\x1b[2J", "\u202e\u2028ä".encode(), b"%00%", b"../..", b"{{.}}", b"a" * 300,
)  # fmt: skip
"""Names that a hostile client may use."""

VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 1e308, -1e308, 0.1, float("nan"),
    float("inf"), "", "0", "0-999999", "5-1", "0,0", "-", "a" * 2_000, "\ud800", "\u0000", "\n", [], {}, [[]], [None],
    {"": ""}, {"t": "0-99999"}, [1] * 50, "<b>", "'$(x)'", "https://x/?a=1#b", "2026-01-01",
)  # fmt: skip
"""JSON values of wrong types."""


def mutated(
    chance: random.Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], *, text: bool
) -> bytes:
    """``data`` damaged in one to a few places; ``others`` are inputs from which pieces are taken."""
    if text and chance.random() < 0.6:
        data = _json_damaged(chance, data)
        if chance.random() < 0.7:
            return data
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        chance.choice(_TEXT_WAYS if text else _WAYS)(chance, changed, others, words)
    return bytes(changed)


def _place(chance: random.Random, data: bytearray) -> int:
    return chance.randrange(len(data) + 1)


def _flip(chance, data, _others, _words):
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _number(chance, data, _others, _words):
    size = chance.choice((1, 2, 4, 4, 8))
    at = _place(chance, data)
    data[at : at + size] = chance.choice(NUMBERS[size]).to_bytes(size, "big")


def _step(chance, data, _others, _words):
    """A number slightly larger or smaller than before."""
    size = chance.choice((1, 2, 4))
    at = _place(chance, data)
    value = int.from_bytes(data[at : at + size], "big") + chance.choice((-2, -1, 1, 2, 16))
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")


def _cut(chance, data, _others, _words):
    at = _place(chance, data)
    del data[at : at + chance.choice((1, 2, 4, 8, 30, len(data)))]


def _double(chance, data, _others, _words):
    at, size = _place(chance, data), chance.choice((1, 4, 20, 200))
    data[at:at] = data[at : at + size] * chance.choice((1, 1, 3))


def _swap(chance, data, _others, _words):
    one, other, size = _place(chance, data), _place(chance, data), chance.choice((2, 4, 16))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]


def _splice(chance, data, others, _words):
    """Insert a part of another input, or replace a part by it."""
    if others and (other := chance.choice(others)):
        begin = chance.randrange(len(other))
        piece = other[begin : begin + chance.choice((4, 16, 64, len(other)))]
        at = _place(chance, data)
        data[at : at + chance.choice((0, len(piece)))] = piece


def _word(chance, data, _others, words):
    word, at = chance.choice(words or TEXTS), _place(chance, data)
    data[at : at + chance.choice((0, len(word)))] = word


def _sized(chance, data, _others, words):
    """Replace content and its length: the frame stays valid, so that the damage reaches inner parsers."""
    for _ in range(8):
        size = chance.choice((2, 4))
        at = _place(chance, data)
        length = int.from_bytes(data[at : at + size], "big")
        if at + size + length <= len(data) and 0 < length < len(data):
            content = chance.choice((*TEXTS, *words))
            data[at : at + size + length] = len(content).to_bytes(size, "big") + content
            return


def _compact(chance, data, _others, words):
    """The same behind a varint of length + 1 (KIP-482)."""
    for _ in range(8):
        if data and 1 < (length := data[at := chance.randrange(len(data))]) < 0x80 and at + length <= len(data):
            content = chance.choice((*TEXTS, *words))[:126]
            data[at : at + length] = bytes([len(content) + 1]) + content
            return


_TEXT_WAYS = (_flip, _cut, _double, _swap, _splice, _word, _word)
_WAYS = (*_TEXT_WAYS, _number, _number, _step, _step, _sized, _sized, _compact)


def _json_damaged(chance: random.Random, data: bytes) -> bytes:
    """One value of one line changed; lines that are no JSON stay as they are."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    with contextlib.suppress(ValueError, RecursionError):
        lines[at] = json.dumps(_value_damaged(chance, json.loads(lines[at]))).encode()
    return b"\n".join(lines)


def _value_damaged(chance: random.Random, value: object) -> object:
    if chance.random() < 0.15 or not value or not isinstance(value, dict | list):
        return chance.choice(VALUES)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], _value_damaged(chance, value[at]), *value[at + 1 :], *chance.choice(([], value))]
    name = chance.choice(list(value))
    damaged = dict(value)
    match chance.randrange(5):
        case 0:
            del damaged[name]
        case 1:
            damaged[chance.choice(("", "group", name * 2, "\ud800"))] = damaged.pop(name)
        case _:
            damaged[name] = _value_damaged(chance, value[name])
    return damaged
