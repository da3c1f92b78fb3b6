"""The order in which Java's ``HashMap`` and ``HashSet`` return their elements: coordinators follow it.

Elements are in the order of a table's buckets, whose number is a power of two; elements of one bucket are in insertion
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["map_order", "set_order"]

_BUCKETS_MIN = 16
_BITS = 32
_MASK = (1 << _BITS) - 1


def set_order(numbers: Sequence[int]) -> list[int]:
    """Return non-negative ``numbers`` in the order of a ``HashSet`` that was copied from a collection of them."""
    # A copy has room for four thirds of its elements (since Java 19; before, for one more).
    buckets = _power_of_two(max(-(-len(numbers) * 4 // 3), _BUCKETS_MIN))
    if not numbers or max(numbers) < buckets:
        return sorted(numbers)
    return sorted(numbers, key=lambda number: _bucket(number, buckets))


def map_order(names: Iterable[str]) -> list[str]:
    """Return ``names`` in the order of a ``HashMap`` with these keys, inserted in the given order."""
    keys = list(dict.fromkeys(names))
    buckets = _BUCKETS_MIN
    while len(keys) * 4 > buckets * 3:
        buckets *= 2
    return sorted(keys, key=lambda name: _bucket(_hash_of(name), buckets))


def _bucket(value: int, buckets: int) -> int:
    return (value ^ value >> 16) & (buckets - 1)


def _hash_of(name: str) -> int:
    """Return ``String.hashCode`` as an unsigned number: over the UTF-16 units of Java's strings."""
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = value * 31 + (high << 8 | low) & _MASK
    return value


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()
