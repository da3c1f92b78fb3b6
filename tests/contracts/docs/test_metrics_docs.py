"""The catalogue, the pages that processes serve and the documentation name the same metrics."""

from pathlib import Path

import pytest
from docs.developers.writers.metrics_page import metrics_page

from rebalance_agent.metrics.catalogue import BY_NAME, CATALOGUE
from rebalance_agent.metrics.metric import ExporterRole, MetricType
from support.observer import pages
from support.observer.scrapes import families, promtool_says

DOCS = Path(__file__).parents[3] / "docs"

SCRAPES = {
    ExporterRole.OBSERVER: pages.observer_groups()
    + pages.observer_lags()
    + pages.observer_baselines()
    + pages.observer_phases()
    + pages.observer_agent(),
    ExporterRole.SIDECAR: pages.sidecar_members() + pages.sidecar_agent(),
    ExporterRole.GATEWAY: pages.gateway(),
}

ROLES = {
    ExporterRole.OBSERVER: {ExporterRole.OBSERVER, ExporterRole.AGENT},
    ExporterRole.SIDECAR: {ExporterRole.SIDECAR, ExporterRole.AGENT},
    ExporterRole.GATEWAY: {ExporterRole.GATEWAY, ExporterRole.SIDECAR, ExporterRole.AGENT},
}

TYPES = {MetricType.INFO: "gauge"}


def test_the_committed_page_is_current():
    assert (DOCS / "metrics.md").read_text(encoding="utf-8") == metrics_page(), "run: make docs"


@pytest.mark.parametrize("role", SCRAPES)
def test_a_role_exports_exactly_its_rows_of_the_catalogue(role):
    assert families(SCRAPES[role]).keys() == {metric.name for metric in CATALOGUE if metric.role in ROLES[role]}


@pytest.mark.parametrize("role", SCRAPES)
def test_types_and_labels_are_those_of_the_catalogue(role):
    for name, family in families(SCRAPES[role]).items():
        row = BY_NAME[name]
        assert family.type == TYPES.get(row.kind, row.kind)
        assert family.documentation == row.help
        for sample in family.samples:
            labels = tuple(label for label in sample.labels if label != "le")
            assert labels == row.labels
            for label, closed in row.values.items():
                assert sample.labels[label] in closed


@pytest.mark.parametrize("role", SCRAPES)
def test_promtool_reports_no_problem(role):
    assert promtool_says(SCRAPES[role]) == ""


def test_every_closed_value_of_a_counter_starts_at_zero():
    shown = families(SCRAPES[ExporterRole.OBSERVER]) | families(SCRAPES[ExporterRole.GATEWAY])
    for row in CATALOGUE:
        if row.kind is MetricType.COUNTER and row.role is not ExporterRole.SIDECAR:
            for label, closed in row.values.items():
                assert {sample.labels[label] for sample in shown[row.name].samples} == set(closed)
