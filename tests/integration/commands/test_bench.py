"""The measurements run at the smallest size, to test their code and not their figures."""

from __future__ import annotations

import pytest

from support.runner.measuring import measured

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("name", "rows"), [("hooks", 9), ("scrape", 3), ("catch-up", 3)])
def test_a_measurement_prints_its_table(name, rows):
    assert len(measured(name)) == rows
