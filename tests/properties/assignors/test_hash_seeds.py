"""Equal groups get equal assignments in every process, with any hash seed of Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
import hashlib, random
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

rng = random.Random(7)
digest = hashlib.sha256()
for _ in range(60):
    topics = {}
    for name in rng.sample("abcdef", rng.randint(1, 4)):
        count = rng.randint(1, 7)
        racks = tuple(tuple(rng.sample(["r1", "r2", "r3"], rng.randint(0, 2))) for _ in range(count))
        topics[name] = TopicMetadata(count, racks, tuple(rng.randint(0, 5) for _ in range(count)))
    members = tuple(
        MemberSubscription(
            f"m{number}",
            tuple(rng.sample(sorted(topics), rng.randint(1, len(topics)))),
            rack=rng.choice([None, "r1", "r2", "r3"]),
            owned={name: tuple(range(number, known.partitions, 5)) for name, known in topics.items()},
            generation=1,
        )
        for number in range(rng.randint(1, 5))
    )
    for name, strategy in STRATEGIES.items():
        config = {"assignment.num.standbys": "1"} if any("standbys" in each.name for each in strategy.config) else {}
        digest.update(repr(strategy.assign(GroupSubscription(topics, members, config=config))).encode())
print(digest.hexdigest())
"""


def test_the_seed_of_pythons_hashes_has_no_effect():
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONPATH": str(ROOT / "agent"), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4", "77")
    }
    assert len(digests) == 1
