"""Random classic groups by Hypothesis, as the records that a coordinator would write."""

from __future__ import annotations

from hypothesis import strategies as st

from support.tracker.tracking import member, record, tombstone

STEPS = st.lists(st.sampled_from(["next", "next", "next", "back", "jump", "empty", "first", "gone"]), max_size=8)


@st.composite
def group_records(draw, group):
    """Records of one group: eager or cooperative, with gaps in its numbers, emptied, created again, deleted.

    Members may be static, and then return within a generation under other ids.
    """
    cooperative, static = draw(st.booleans()), draw(st.booleans())
    protocol = "cooperative-sticky" if cooperative else "range"
    at, number, had, records, lives = draw(st.integers(0, 4_000)), draw(st.integers(0, 2)), {}, [], {}
    for step in draw(STEPS):
        if step == "back" and had and static:
            name = draw(st.sampled_from(sorted(had)))
            lives[name] = lives.get(name, 0) + 1
            members = [_member(each, had[each], {}, lives, static) for each in had]
        elif step in ("next", "jump"):
            owned = had if cooperative else {}
            had = _shares(draw, owned)
            members = [_member(each, had[each], owned, lives, static) for each in had]
        else:
            had, members = {}, []
        number = {"next": number + 1, "jump": number + 3, "empty": number + 1}.get(step, number if members else 0)
        reported = record(at, number, *members, group=group, protocol=protocol, joined=at - 10)
        records.append((group, tombstone(at, group) if step == "gone" else reported))
        at += draw(st.integers(20, 9_000))
    return records


def _shares(draw, had):
    number = draw(st.integers(1, 3))
    shares = {f"m{each}": tuple(range(each, 4, number)) for each in range(number)}
    if any(had.get(name) for name in shares) and draw(st.booleans()):
        # Moved partitions are withheld for a follow-up.
        shares = {name: tuple(each for each in parts if each in had.get(name, ())) for name, parts in shares.items()}
    return shares


def _member(name, share, owned, lives, static):
    """A member with another id after each restart."""
    life = lives.get(name, 0)
    named = f"{name}-{life}" if life else name
    return member(named, share, owned=owned.get(name, ()), instance=f"i{name}" if static else None, client=name)
