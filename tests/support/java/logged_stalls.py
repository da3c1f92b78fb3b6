"""The stalls of two members by their own logs."""

from __future__ import annotations


def longest_ms(one, two):
    """Longest ms from the last revoked callback's start to the end of the assigned callback of its partitions."""
    changes = sorted((at, word, numbers) for each in (one, two) for word, at, numbers in each.lines if numbers)
    revoked, longest = {}, 0
    first = max(at for at, word, numbers in changes if word == "revoked")
    for at, word, numbers in changes:
        for number in numbers:
            if word == "assigned" and number in revoked and revoked[number] == first:
                longest = max(longest, at - revoked[number])
            revoked[number] = at
    return longest
