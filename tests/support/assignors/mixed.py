"""Groups with mixed subscriptions that are too large for a brute-force check, to compare algorithms."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata


def mixed_group(seed: int) -> GroupSubscription:
    """A group of up to 10 members and 8 topics; some partitions are owned, some by members that do not subscribe.

    Built from a seed, because groups that Hypothesis draws step by step are rarely as mixed.
    """
    rnd = random.Random(seed)
    topics = {f"t{place}": rnd.choice([1, 1, 2, 3, 4, 7, 12, 20]) for place in range(rnd.randint(1, 8))}
    wanted = rnd.choice([0.2, 0.4, 0.6, 0.9])
    subscribed = [
        [name for name in topics if rnd.random() < wanted] or [rnd.choice(list(topics))]
        for _ in range(rnd.randint(1, 10))
    ]
    owned: list[dict[str, tuple[int, ...]]] = [{} for _ in subscribed]
    owned_part, favour = rnd.choice([0, 0.3, 0.8, 1]), rnd.choice([1, 1, 4])
    for name, count in topics.items():
        able = [place for place, names in enumerate(subscribed) if name in names or rnd.random() < 0.05]
        for number in range(count):
            if able and rnd.random() < owned_part:
                (owner,) = rnd.choices(able, [favour] + [1] * (len(able) - 1))
                owned[owner][name] = (*owned[owner].get(name, ()), number)
    return GroupSubscription(
        {name: TopicMetadata(count) for name, count in topics.items()},
        tuple(
            MemberSubscription(f"m{place}", tuple(names), owned=owned[place], generation=1)
            for place, names in enumerate(subscribed)
        ),
    )


def mixed_groups():
    return st.integers(0, 2**32).map(mixed_group)


def random_half(topics: int, partitions: int, members: int, seed: int = 7) -> GroupSubscription:
    """A group whose members each subscribe to a random half of the topics."""
    rnd = random.Random(seed)
    names = [f"t{place:03}" for place in range(topics)]
    return GroupSubscription(
        {name: TopicMetadata(partitions) for name in names},
        tuple(
            MemberSubscription(f"m{place:03}", tuple(sorted(rnd.sample(names, topics // 2))))
            for place in range(members)
        ),
    )
