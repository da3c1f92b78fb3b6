"""Our reader of our own text of /metrics reads what prometheus_client's parser reads."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.metrics.agent_rows import POLL_SECONDS
from rebalance_agent.metrics.export.parsed_text import parsed_families, parsed_samples
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_rows import GROUP_ROWS

ROWS = [row for row in GROUP_ROWS if not row.buckets]
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from('\\"\n{}, =# ')), max_size=8)
NUMBERS = st.one_of(st.integers(-5, 10**15), st.floats(allow_nan=False))


@st.composite
def pages(draw):
    """The text of some metrics, in pieces that end at ends of lines."""
    form, pieces = TextFormat(draw(TEXTS)), []
    for row in draw(st.lists(st.sampled_from(ROWS), max_size=4, unique=True)):
        labels = st.tuples(*[TEXTS] * len(row.labels))
        samples = draw(st.lists(st.tuples(labels, NUMBERS), min_size=1, max_size=3))
        parts = [form.header(row), *(form.samples(row, [sample]) for sample in samples)]
        pieces += parts if draw(st.booleans()) else [b"".join(parts)]
    return pieces if draw(st.booleans()) else [b"".join(pieces)]


@given(pages())
def test_our_reader_agrees_with_prometheus_parser(pieces):
    read = [(row, sample) for row, samples in parsed_families(pieces) for sample in samples]
    assert [tuple(sample) for _, sample in read] == [tuple(each) for each in parsed_samples(b"".join(pieces).decode())]
    assert all(sample.name == row.name for row, sample in read)


def test_a_line_without_labels_is_read():
    text = TextFormat().header(POLL_SECONDS) + b"rebalance_agent_poll_duration_seconds_sum 1.5\n"
    ((row, samples),) = parsed_families([text])
    assert (row, *samples) == (POLL_SECONDS, ("rebalance_agent_poll_duration_seconds_sum", {}, 1.5))
