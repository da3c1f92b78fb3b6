"""The stalls of two members by their own logs."""

from __future__ import annotations


def longest_ms(one, two):
    """The longest time from the last revocation of a partition to the end of its assignment, by the members' logs."""
    changes = sorted((at, word, numbers) for each in (one, two) for word, at, numbers in each.lines if numbers)
    revoked, longest = {}, 0
    first = max(at for at, word, numbers in changes if word == "revoked")
    for at, word, numbers in changes:
        for number in numbers:
            if word == "assigned" and number in revoked and revoked[number] == first:
                longest = max(longest, at - revoked[number])
            revoked[number] = at
    return longest
