"""A run of random migrations continues with the seeds that its file lacks for the same version of Kafka."""

from __future__ import annotations

import json
import sys

from rebalance_agent.testing.kafka.kafka_versions import VARIABLE
from support.migration import random_migrations


def test_a_file_of_results_may_have_several_versions(tmp_path, monkeypatch):
    path, ran = tmp_path / "results", []

    def run_seeds(seeds, report):
        ran.append(seeds)
        for seed in seeds:
            report({"seed": seed, "ok": True, "reason": None, "actual": True})

    monkeypatch.setattr(random_migrations, "run_seeds", run_seeds)
    for version, count in (("4.4", 1), ("4.4.0", 2), ("4.3.0", 2)):
        monkeypatch.setenv(VARIABLE, version)
        monkeypatch.setattr(sys, "argv", ["random_migrations", "--seeds", str(count), "--results", str(path)])
        assert random_migrations.main() == 0
    assert ran == [[0], [1], [0, 1]]
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(result["kafka"], result["seed"]) for result in results] == [
        ("4.4.0", 0),
        ("4.4.0", 1),
        ("4.3.0", 0),
        ("4.3.0", 1),
    ]
