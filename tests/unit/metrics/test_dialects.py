"""The format that a scraper gets; OpenMetrics' own parser accepts our OpenMetrics."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export.dialects import Dialect, accepts_gzip, choose_dialect
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.model.episode import Basis
from rebalance_agent.traces.span import trace_id
from rebalance_agent.tracking.views import Counters, Exemplar, StallHistogram
from support.observer import pages
from support.observer.views import NOW, full_view

OPENMETRICS, PROMETHEUS = Dialect.OPENMETRICS, Dialect.PROMETHEUS
OF_PROMETHEUS_2_42 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
OF_PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;"
    "q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "dialect"),
    [
        ("", PROMETHEUS),
        ("*/*", PROMETHEUS),
        ("text/plain", PROMETHEUS),
        ("text/html,application/xhtml+xml,*/*;q=0.8", PROMETHEUS),
        (OF_PROMETHEUS_2_42, OPENMETRICS),
        (OF_PROMETHEUS_3, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8", OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', OPENMETRICS),
        ("application/openmetrics-text; version=0.0.1", PROMETHEUS),
        ("application/openmetrics-text; version=2.0.0, text/plain;q=0.1", PROMETHEUS),
        ("application/openmetrics-text;q=0", PROMETHEUS),
        ("application/openmetrics-text;q=0.000, */*;q=0.1", PROMETHEUS),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.5", PROMETHEUS),
        ("application/openmetrics-text;q=0.5, text/plain;q=0.5", OPENMETRICS),
        ("application/openmetrics-text;q=0.5, text/plain;q=0.1, */*;q=0.9", OPENMETRICS),
        ("application/openmetrics-text;q=0.5, text/*;q=0.8", PROMETHEUS),
        ("application/openmetrics-text;q=nan", PROMETHEUS),
        ("application/openmetrics-text;q=2", PROMETHEUS),
        (";;,,=;q=", PROMETHEUS),
    ],
)
def test_openmetrics_is_chosen_if_accept_names_it_with_no_lower_weight(accept, dialect):
    assert choose_dialect(accept) is dialect


def test_gzip_is_found_among_other_encodings():
    assert accepts_gzip("br, GZIP;q=0.1")
    assert not accepts_gzip("gzip;q=0.0, br")


def parsed(text):
    """Families by name, from OpenMetrics' strict parser, which checks units, suffixes and the end."""
    found = list(text_string_to_metric_families(text.decode() + OPENMETRICS.end.decode()))
    assert len(found) == len({family.name for family in found})
    return {family.name: family for family in found}


def exemplified(group="orders"):
    first, last = Exemplar("ab" * 16, 4.5, NOW, ("c", "orders", 7)), Exemplar("cd" * 16, 700, 5, ("c", "orders", 9))
    histogram = StallHistogram((0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2), 1_234.5, {5: first, 10: last})
    return full_view(group, counters=Counters(stalls={Basis.BOUND: histogram}))


def test_buckets_name_the_last_rebalance_in_them_and_its_trace():
    page = GroupsPage(lambda: [exemplified()], FakeClock(NOW))
    samples = parsed(page.text(OPENMETRICS))["kafka_rebalance_stall_seconds"].samples
    found = {each.labels["le"]: each.exemplar for each in samples if each.exemplar}
    assert {le: (each.labels, each.value, float(each.timestamp)) for le, each in found.items()} == {
        "5.0": ({"event_id": "ab" * 16, "trace_id": trace_id("c", "orders", 7)}, 4.5, NOW / 1000),
        "+Inf": ({"event_id": "cd" * 16, "trace_id": trace_id("c", "orders", 9)}, 700, 0.005),
    }
    assert b"event_id" not in page.text(PROMETHEUS)


def test_every_page_is_openmetrics_with_the_same_samples():
    names = ["b", 'say "hello"\n\\', "x" * 300]
    page = GroupsPage(lambda: [exemplified(name) for name in names], FakeClock(NOW), text=TextFormat('a "b"'))
    for text, plain in (
        (page.text(OPENMETRICS), page.text()),
        (pages.observer_agent(OPENMETRICS), pages.observer_agent()),
        (pages.observer_baselines(OPENMETRICS), pages.observer_baselines()),
        (pages.observer_phases(OPENMETRICS), pages.observer_phases()),
        (pages.sidecar_members(OPENMETRICS), pages.sidecar_members()),
    ):
        assert parsed(text)
        bare = [line.partition(" # {")[0] for line in text.decode().splitlines() if not line.startswith("#")]
        assert bare == [line for line in plain.decode().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    "parts",
    [
        (pages.observer_groups, pages.observer_baselines, pages.observer_phases, pages.observer_agent),
        (pages.sidecar_members, pages.sidecar_agent),
    ],
)
def test_a_roles_whole_page_is_one_openmetrics_text(parts):
    assert len(parsed(b"".join(part(OPENMETRICS) for part in parts))) > 10


def test_types_are_openmetrics_own_and_family_names_have_no_suffix():
    found = parsed(GroupsPage(lambda: [full_view()], FakeClock(NOW)).text(OPENMETRICS))
    kinds = {name: family.type for name, family in found.items()}
    assert kinds["kafka_rebalance_group"] == "info"
    assert kinds["kafka_rebalance_completed"] == "counter"
    assert kinds["kafka_rebalance_generation"] == "gauge"
    assert kinds["kafka_rebalance_stall_seconds"] == "histogram"
    assert {family.unit for family in found.values()} == {""}


def test_quotes_in_help_are_escaped_only_in_openmetrics():
    metric = Metric("x_total", MetricType.COUNTER, ExporterRole.AGENT, 'say "x"\n\\')
    text = TextFormat()
    assert text.header(metric, OPENMETRICS) == b'# HELP x say \\"x\\"\\n\\\\\n# TYPE x counter\n'
    assert text.header(metric) == b'# HELP x_total say "x"\\n\\\\\n# TYPE x_total counter\n'


def test_a_scrape_in_either_format_renders_no_group_again(monkeypatch):
    page = GroupsPage(lambda: [exemplified()], FakeClock(NOW))
    page.refresh()
    monkeypatch.setattr("rebalance_agent.metrics.export.groups_page.group_samples", None)
    assert page.text(OPENMETRICS) != page.text(PROMETHEUS)
