"""The pipeline's measurements run at the smallest size, to test their code and not their figures."""

from __future__ import annotations

import pytest

from support.runner.measuring import measured

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "rows"), [("pipeline", 18), ("whatif", 3), ("ingest", 5), ("small-files", 2)])
def test_a_measurement_prints_its_table(name, rows):
    assert len(measured(name)) == rows
