"""A short run of `make chaos`: two minutes, one seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHAOS = Path(__file__).parents[2] / "chaos"
SEED = "7"


@pytest.mark.timeout(1_800)
def test_after_two_minutes_of_faults_the_ledger_is_clean():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(CHAOS), "--minutes", "2", "--seed", SEED]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout
    assert "no difference" in run.stdout
    assert "chaos: nothing is wrong" in run.stdout
