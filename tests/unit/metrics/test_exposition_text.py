import math

import pytest

from rebalance_agent.metrics import group_rows as rows
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import Sample
from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.tracking.views import StallHistogram
from support.observer.scrapes import families, promtool_says, values
from support.observer.views import EMPTY_COUNTS

HOSTILE = [
    'quote " backslash \\ newline \n end',
    "ends in a backslash \\",
    'a"} 1\nkafka_rebalance_generation{consumergroup="forged',
    "tab \t, carriage return \r, bell \a, nul \0",
    "grüße ☃ 🦀",
    "x" * 32_767,
    "",
]


def page(metric, *samples, cluster=""):
    text = TextFormat(cluster)
    return text.header(metric) + text.samples(metric, samples)


@pytest.mark.parametrize("group", HOSTILE)
def test_a_group_name_with_special_characters_is_one_label_value(group):
    text = page(rows.GENERATION, Sample((group,), 3))
    assert values(text) == {("kafka_rebalance_generation", short_name(group)): 3}
    assert promtool_says(text) == ""


def test_text_without_a_utf8_form_becomes_a_visible_escape():
    text = page(rows.GENERATION, Sample(("a\udc80b",), 3))
    assert values(text) == {("kafka_rebalance_generation", r"a\udc80b"): 3}
    assert promtool_says(text) == ""


def test_histograms_are_cumulative_and_end_at_infinity():
    histogram = StallHistogram((1, 0, 2, *EMPTY_COUNTS[3:-1], 4), 12.5)
    lines = page(rows.STALL, Sample(("g", "bound"), histogram)).decode().splitlines()[2:]
    assert lines[0] == 'kafka_rebalance_stall_seconds_bucket{consumergroup="g",basis="bound",le="0.1"} 1'
    assert lines[2] == 'kafka_rebalance_stall_seconds_bucket{consumergroup="g",basis="bound",le="0.5"} 3'
    assert lines[-3:] == [
        'kafka_rebalance_stall_seconds_bucket{consumergroup="g",basis="bound",le="+Inf"} 7',
        'kafka_rebalance_stall_seconds_sum{consumergroup="g",basis="bound"} 12.5',
        'kafka_rebalance_stall_seconds_count{consumergroup="g",basis="bound"} 7',
    ]


@pytest.mark.parametrize("group", [*HOSTILE, "100 %s \0 {}"])
def test_a_group_name_with_special_characters_is_one_label_value_of_each_histogram_line(group):
    samples = families(page(rows.STALL, Sample((group, "bound"), StallHistogram())))[rows.STALL.name].samples
    assert len(samples) == len(rows.STALL.buckets) + 3
    assert {sample.labels["consumergroup"] for sample in samples} == {short_name(group)}


@pytest.mark.parametrize("cluster", ["", "c"])
def test_the_text_of_a_group_equals_that_of_samples_with_its_label(cluster):
    text = TextFormat(cluster)
    for metric, labels, value in ((rows.GENERATION, (), 3), (rows.STALL, ("bound",), StallHistogram())):
        of_group = text.of_group("g")(metric, [(labels, value)])
        assert of_group == text.samples(metric, [Sample(("g", *labels), value)])


def test_the_cluster_name_is_the_first_label():
    bare = Metric("x_total", MetricType.COUNTER, ExporterRole.AGENT, "X.")
    assert page(bare, Sample((), 1), cluster='a"b').endswith(b'\nx_total{cluster="a\\"b"} 1\n')
    assert b'{cluster="c",consumergroup="g"} 1' in page(rows.GENERATION, Sample(("g",), 1), cluster="c")


def test_numbers_keep_their_value():
    bare = Metric("x", MetricType.GAUGE, ExporterRole.AGENT, "X.")
    for number in (0, -1, 10**20, 0.1, 1e-9, 1.5e300, math.inf, -math.inf):
        assert values(page(bare, Sample((), number))) == {("x",): number}
    assert math.isnan(values(page(bare, Sample((), math.nan)))["x",])


def test_help_is_escaped():
    text = page(Metric("x", MetricType.GAUGE, ExporterRole.AGENT, "a\\b\nc."), Sample((), 1))
    assert families(text)["x"].documentation == "a\\b\nc."


def test_a_sample_with_the_wrong_number_of_labels_is_refused():
    with pytest.raises(ValueError, match="2 values for the labels consumergroup"):
        page(rows.GENERATION, Sample(("g", "more"), 1))
