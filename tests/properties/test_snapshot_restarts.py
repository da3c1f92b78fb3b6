"""An observer that is killed anywhere and goes on from its snapshot says what one says that never stopped."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.restarts import TICK_MS, Observed, numbered, told_together
from support.tracking import T0, member, record, tombstone

END_MS = 20_000
STEPS = st.lists(st.sampled_from(["next", "next", "next", "jump", "empty", "first", "gone"]), max_size=8)


@st.composite
def _stories(draw, group):
    """One group's records: eager or cooperative, with gaps in its numbers, emptied, begun anew, deleted."""
    cooperative = draw(st.booleans())
    protocol = "cooperative-sticky" if cooperative else "range"
    at, number, had, records = draw(st.integers(0, 4_000)), draw(st.integers(0, 2)), {}, []
    for step in draw(STEPS):
        members = _members(draw, had if cooperative else {}) if step in ("next", "jump") else ()
        had = {each.member_id: each.assigned.get("t", ()) for each in members}
        number = {"next": number + 1, "jump": number + 3, "empty": number + 1}.get(step, 0)
        told = record(at, number, *members, group=group, protocol=protocol, joined=at - 10)
        records.append((group, tombstone(at, group) if step == "gone" else told))
        at += draw(st.integers(20, 9_000))
    return records


def _members(draw, had):
    number = draw(st.integers(1, 3))
    shares = {f"m{each}": tuple(range(each, 4, number)) for each in range(number)}
    owned = {name: had.get(name, ()) for name in shares}
    if any(owned.values()) and draw(st.booleans()):
        # What moves is withheld for a follow-up.
        shares = {name: tuple(each for each in parts if each in owned[name]) for name, parts in shares.items()}
    return [member(name, parts, owned=owned[name]) for name, parts in shares.items()]


LOGS = st.tuples(_stories("g"), _stories("h")).map(
    lambda stories: numbered(sorted(stories[0] + stories[1], key=lambda each: each[1].timestamp_ms))
)
LIVES = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 60)), min_size=1, max_size=2)
"""How long one lives and is away then, in ticks."""


@settings(max_examples=60)
@given(LOGS, LIVES, st.sampled_from([TICK_MS, 5_000]))
def test_killed_anywhere_and_resumed_it_says_the_same(log, lives, snapshot_ms):
    end_ms = T0 + 200_000
    whole = Observed(log).live(T0, end_ms)
    now_ms, observers = T0, [Observed(log, snapshot_ms=snapshot_ms)]
    for lived, away in lives:
        observers[-1].live(now_ms, now_ms + lived * TICK_MS)
        now_ms += (lived + away) * TICK_MS
        observers.append(observers[-1].successor(now_ms))
    observers[-1].live(now_ms, max(end_ms, now_ms + END_MS))
    assert told_together(observers) == whole.told()


@settings(max_examples=30)
@given(LOGS, st.integers(0, 120), st.integers(0, 60))
def test_what_was_written_before_it_began_is_told_and_not_counted(log, lived, away):
    killed = Observed(log).live(T0, T0 + lived * TICK_MS)
    back_ms = T0 + (lived + away) * TICK_MS
    successor = killed.successor(back_ms)
    written = successor.position
    successor.live(back_ms, back_ms + END_MS + 200_000)
    for group in "gh":
        later = sum(key == group for key, _ in log[written:])
        assert (successor.counted(group) or 0) <= later
