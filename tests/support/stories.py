"""Stories of classic groups that Hypothesis makes up: the records that a coordinator would have left of them."""

from __future__ import annotations

from hypothesis import strategies as st

from .tracking import member, record, tombstone

STEPS = st.lists(st.sampled_from(["next", "next", "next", "jump", "empty", "first", "gone"]), max_size=8)


@st.composite
def stories(draw, group):
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
