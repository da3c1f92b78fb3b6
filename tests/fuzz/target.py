"""The interface of a fuzz target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["KB", "MB", "Target", "joined", "kept_inputs", "parts", "read_or_refused"]

KB, MB = 1 << 10, 1 << 20

_CORPUS = Path(__file__).parent / "corpus"
_LENGTH_BYTES = 4
_T = TypeVar("_T")


@dataclass(frozen=True)
class Target:
    """``take`` accepts any bytes; any exception is a fault, and so is an input that exceeds the limits.

    ``seeds``: real initial inputs. ``words``: meaningful texts. ``seconds_max`` (of the thread's own
    CPU; of the process's, where it is ``threaded``) and ``bytes_max`` plus ``bytes_per_byte`` of the input bound it;
    ``length_max``: bytes of an input. ``text``: it is damaged like JSON and text, not like numbers and lengths.
    ``framed_from``: offset of its `joined` pieces, one of which is damaged at a time; None: no pieces.
    """

    name: str
    take: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...] = ()
    seconds_max: float = 0.5
    bytes_max: int = 1 * MB
    bytes_per_byte: int = 400
    length_max: int = 4 * KB
    text: bool = False
    framed_from: int | None = None
    threaded: bool = False


def read_or_refused(parse: Callable[[bytes], _T], data: bytes, refusal: type[Exception]) -> _T | None:
    """The parser's result for ``data``; None if it raises ``refusal`` with a one-line reason."""
    try:
        return parse(data)
    except refusal as error:
        text = str(error)
        if not text or "\n" in text:
            raise AssertionError(f"refused with {text!r}") from error
        return None


def joined(*pieces: bytes | None) -> bytes:
    """Several byte strings as one input; None (a tombstone) is a length below zero."""
    return b"".join(
        (-1 if piece is None else len(piece)).to_bytes(_LENGTH_BYTES, "big", signed=True) + (piece or b"")
        for piece in pieces
    )


def parts(data: bytes) -> list[bytes | None]:
    """The byte strings of any input: a length that is too large takes all remaining bytes."""
    found: list[bytes | None] = []
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + _LENGTH_BYTES], "big", signed=True)
        at += _LENGTH_BYTES
        found.append(None if length < 0 else data[at : at + length])
        at += max(0, length)
    return found


def kept_inputs(name: str) -> list[bytes]:
    """Inputs that once caused faults in this target; they are tried first."""
    return [path.read_bytes() for path in sorted((_CORPUS / name).glob("*"))]
