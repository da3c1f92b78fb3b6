"""A soak of less than a minute runs completely, and its exit code agrees with its report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from soak.samples import MEASURES

pytestmark = pytest.mark.slow

RUN = (sys.executable, str(Path(__file__).parents[2] / "soak" / "run.py"))


def test_a_soak_reports_every_measure(tmp_path):
    report = tmp_path / "soak.html"
    size = ("--hours", "0.01", "--groups", "30", "--rate", "50", "--attack", "generations", "--report", str(report))
    done = subprocess.run([*RUN, *size], capture_output=True, text=True, check=False)
    verdicts = [line for line in done.stdout.splitlines() if line.endswith((": flat", ": GROWS"))]
    assert [line.partition(":")[0] for line in verdicts] == [each.title for each in MEASURES], done.stderr
    assert "attack generations;" in done.stdout
    assert done.returncode == any(line.endswith("GROWS") for line in verdicts)
    assert report.read_text(encoding="utf-8").count("<svg") == len(MEASURES)
