"""Makes lines that are damaged events: one to three of their values are replaced, repeated, removed or added."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["poison"]

RAW = "\ue000"
"""Encloses text that is inserted without quotes, which `json.dumps` cannot write."""

VALUES: tuple[object, ...] = (
    None, True, 0, -1, 1, 2**31 - 1, 2**31, 2**63, 10**300, 0.5, -0.0, 1e300, -1e300, 5e-324,
    float("nan"), float("inf"), "", "x", "0-99999", "0-999999", "7,3", "\ud800", "\\ud800", "\0", "\u2028",
    "x" * 65_536, "x" * 70_000, [], {}, [[]], {"a": 1}, ["t", "t"], {"t": "0-9"}, {"t" * 40_000: "0"},
    {"\u20ac" * 32_767: "0"},
    {"\ud800": "0", "?": "0"}, "range", "eager", "cooperative", "consumer", "rejoin", "record", "AAAA", "=",
    f"{RAW}{'7' * 2_000}{RAW}", f"{RAW}0.{'7' * 2_000}{RAW}", f"{RAW}1e999{RAW}", f"{RAW}-{RAW}",
    f"{RAW}{'[' * 990}{']' * 990}{RAW}", f"{RAW}{'[' * 9_900}{']' * 9_900}{RAW}", f'{RAW}{{"t":"0","t":"1"}}{RAW}',
)  # fmt: skip
NAMES = ("news", "kind", "t", "", "\ud800", "k" * 60_000, "epoch_kind")


def poison(events: Sequence[Mapping[str, object]], *, seed: int, count: int) -> Iterator[bytes]:
    """Yield ``count`` lines made from ``events`` (JSON objects).

    Each line has its own id, and a group of damaged events, unless these are damaged.
    """
    rng = random.Random(seed)
    for number in range(count):
        event = json.loads(json.dumps(rng.choice(events)))
        event |= {"event_id": f"poison-{number}", "group": f"poison-{number % 20}"}
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            _damage(rng, event)
        yield json.dumps(event).replace(f'"{_ESCAPED}', "").replace(f'{_ESCAPED}"', "").replace('\\"', '"').encode()


_ESCAPED = json.dumps(RAW)[1:-1]


def _damage(rng: random.Random, event: dict[str, object]) -> None:
    places = [place for place in _places(event) if place]
    *way, last = rng.choice(places)
    holder: Any = event
    for step in way:
        holder = holder[step]
    fate = rng.random()
    if fate < 0.6 or not isinstance(holder, dict | list):
        holder[last] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(holder, list):
        holder.append(json.loads(json.dumps(rng.choice(holder))))
    elif fate < 0.8:
        del holder[last]
    else:
        holder[rng.choice(NAMES)] = copy.deepcopy(rng.choice(VALUES))


def _places(value: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict):
        for name in value:
            yield from _places(value[name], (*place, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _places(value[index], (*place, index))
