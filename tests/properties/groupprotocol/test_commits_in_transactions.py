"""Commits in transactions: no invalid offset is ever used, and all valid ones are finally known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.polls.commits import CommittedOffsets
from support.kafka.commits import GROUP, OffsetsPartition
from support.observer.fakes import Calls

PARTITIONS = (0, 1)
TRANSACTIONS = ("x", "y")
ALL = 1_000

steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["commit", "expire"]), st.sampled_from(PARTITIONS)),
        st.tuples(st.just("within"), st.sampled_from(TRANSACTIONS), st.sampled_from(PARTITIONS)),
        st.tuples(st.sampled_from(["abort", "finish"]), st.sampled_from(TRANSACTIONS)),
        st.tuples(st.just("judge after reading"), st.sampled_from([0, 1, 2, ALL])),
        st.sampled_from([("another record",), ("restart",)]),
    ),
    max_size=40,
)
"""Events in one partition of the offsets topic, and the times and positions of the agent's reads."""


class Agent:
    """The tail, and a poll with the requests of `LoadsPoll`, with a tail that may be behind."""

    def __init__(self):
        self.log, self.seen, self.at = OffsetsPartition(), 0, 0
        self.commits = CommittedOffsets(lambda group: group == GROUP, Calls())
        self.commits.on_records([], {0: 0})
        self.commits.follow({GROUP: frozenset(("t", number) for number in PARTITIONS)})
        self.counted: dict[int, set[int | None]] = {number: {None} for number in PARTITIONS}

    def apply(self, number, step):
        match step:
            case "commit", partition:
                self.log.commit(partition, number)
            case "expire", partition:
                self.log.commit(partition, None)
            case "within", transaction, partition:
                self.log.commit(partition, number, transaction)
            case "abort" | "finish" as end, transaction if transaction in self.log.open:
                self.log.finish(transaction, commit=end == "finish")
            case "judge after reading", most:
                self.read(most)
                self.judge()
            case ("another record",):
                self.log.something_else()
            case ("restart",):
                self.seen, self.at = len(self.log.records), self.log.end
                self.commits.on_records([], {0: self.at})
        for partition in PARTITIONS:
            self.counted[partition].add(self.log.counts.get(partition))

    def read(self, most):
        records = self.log.records[self.seen : self.seen + most]
        self.seen += len(records)
        whole = self.seen == len(self.log.records)
        self.at = self.log.end if whole else records[-1].offset() + 1 if records else self.at
        self.commits.on_records(records, {0: self.at})

    def judge(self):
        self.commits.to_judge()
        self.commits.judge({0: self.log.stable}, {0: self.log.end})
        for group in self.commits.doubtful(9):
            self.commits.fetched(group, {("t", number): offset for number, offset in self.log.counts.items()})
        return {number: offset for (_, number), offset in self.commits.offsets(GROUP).items()}


@given(steps)
def test_only_offsets_that_were_valid_are_used(script):
    agent = Agent()
    for number, step in enumerate(script):
        agent.apply(number, step)
        for (_, partition), offset in agent.commits.offsets(GROUP).items():
            assert offset in agent.counted[partition]


@given(steps)
def test_after_all_reads_and_requests_every_valid_offset_is_known(script):
    agent = Agent()
    missed = False
    for number, step in enumerate(script):
        missed |= step == ("restart",)
        agent.apply(number, step)
    agent.read(ALL)
    if missed:
        agent.commits.doubt()
    assert agent.judge() == agent.log.counts
