"""Evidence that a member was replaced, and that replacements are a deploy."""

from __future__ import annotations

import itertools

import pytest

from rebalance_agent.tracking.patterns.rollout_evidence import (
    NEW_VERSIONS_ENOUGH,
    Proof,
    ReplacedMember,
    VisibleMember,
    is_rollout,
    pod_template,
    proof_of,
)

POD = {"pods of orders": "7c9d8f6b5d"}
OTHER_POD = {"pods of orders": "5b8f44d6c9"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-7c9d8f6b5d-x2q4z", ("orders", "7c9d8f6b5d")),
        ("orders-api-674ff86d-zz5tv-StreamThread-1-consumer", ("orders-api", "674ff86d")),
        ("orders-7c9d8f6b5d-x2q4z-1", ("orders", "7c9d8f6b5d")),
        ("team/orders-7c9d8f6b5d-x2q4z", ("orders", "7c9d8f6b5d")),
        ("orders-0", None),
        ("consumer-orders-12345", None),
        ("orders-7c9d8f6b5d-x2q4za", None),  # one character too many
        ("orders-7c9a8f6b5d-x2q4z", None),  # no hash contains the letter a
        ("7c9d8f6b5d-x2q4z", None),
        ("app-3f0c1d5e-9f6b-4c2d-8f6b-5d7c9d8f6b5d-StreamThread-1-consumer", None),
    ],
)
def test_the_pod_template_hash_is_read_from_the_name(name, expected):
    assert pod_template(name) == expected


@pytest.mark.parametrize(
    ("gone", "joined", "expected"),
    [
        (VisibleMember(("instance a",)), VisibleMember(("instance a", "client x")), Proof.RESTART),
        (VisibleMember(("client a",)), VisibleMember(("client b",)), None),
        (VisibleMember(), VisibleMember(), None),
        (VisibleMember((), POD), VisibleMember((), OTHER_POD), Proof.NEW_VERSION),
        (VisibleMember((), POD), VisibleMember((), POD), None),
        (VisibleMember((), POD), VisibleMember(), None),
        (VisibleMember((), {"image of a": "1"}), VisibleMember((), {"image of b": "2"}), None),
        (VisibleMember(("pod a",), {"image of a": "1"}), VisibleMember(("pod a",), {"image of a": "1"}), Proof.RESTART),
        (VisibleMember(("pod a",), process="p"), VisibleMember(("pod a",), process="p"), None),
        (VisibleMember(("pod a",), process="p"), VisibleMember(("pod a",), process="q"), Proof.RESTART),
    ],
)
def test_a_successor_is_recognised_by_its_name_or_by_another_version(gone, joined, expected):
    assert proof_of(gone, joined) is proof_of(joined, gone) is expected


def replaced(*names, proof=Proof.RESTART, apart=1):
    return [ReplacedMember(f"orders-{name}", index // apart, proof) for index, name in enumerate(names)]


@pytest.mark.parametrize(
    ("members", "series", "expected"),
    [
        (3, replaced(0, 1, 2), True),
        (3, replaced(2, 1, 0), True),
        (3, replaced(0, 1), False),
        (3, replaced(0, 2, 1), False),
        (2, replaced(0, 1), False),
        (1, replaced(0), False),
        (12, replaced(8, 9, 10, 11, 7, 6, 5), False),
        (12, replaced(5, 6, 7, 8, 9, 10, 11), True),  # numerically, not alphabetically
        (12, replaced(5, 6, 7, 8, 9, 10), False),
        (5, replaced(3, 1, 4, 0, 2), True),
        (5, replaced(3, 1, 4, 0), False),
        (4, replaced(3, 1, 2, 0), False),
        (4, replaced(0, 1, 2, 3, apart=2), True),
        (4, replaced(0, 1, 2, 3, apart=4), False),
        (5, replaced(0, 1, 2, 2), False),
        (1, replaced(0, proof=Proof.NEW_VERSION), True),
        (4, replaced(2, 0, proof=Proof.NEW_VERSION), False),
        (4, replaced(2, 0, 1, proof=Proof.NEW_VERSION), True),
        (100, replaced(*range(NEW_VERSIONS_ENOUGH), proof=Proof.NEW_VERSION), True),
        (100, [], False),
    ],
)
def test_replacing_most_members_one_by_one_is_a_rollout(members, series, expected):
    assert is_rollout(members, series) is expected


@pytest.mark.no_cover  # other tests cover the same lines
@pytest.mark.parametrize("members", range(1, 7))
def test_random_members_that_restart_look_like_a_rollout_in_less_than_one_of_ten_cases(members):
    hits = 0
    for picks in itertools.product(range(members), repeat=members):
        series = replaced(*picks)
        hits += any(is_rollout(members, series[:length]) for length in range(members + 1))
    assert hits / members**members < 0.1
