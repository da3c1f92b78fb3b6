"""One module derives the names of members, in one order of preference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rebalance_agent
from rebalance_agent.model.member_changes import member_name

ROOT = Path(rebalance_agent.__file__).parent


@pytest.mark.parametrize(
    ("instance_id", "pod", "name"),
    [
        ("static", "pod", "pod"),
        ("static", None, "static"),
        (None, "pod", "pod"),
        (None, None, "client"),
        ("", "", "client"),
        ("rebalance-agent-seat-0-1", None, "client"),
        ("rebalance-agent-seat-0-1", "pod", "pod"),
    ],
)
def test_a_member_is_named_by_pod_then_instance_id_then_client_id(instance_id, pod, name):
    assert member_name("client", instance_id, pod=pod) == name


def test_no_other_module_makes_a_name_of_these_ids():
    chosen = re.compile(r"instance_id\)? or \S*client_id|pod or \S*(instance|client)_id|instance_id\)? or \S*pod")
    places = [path.name for path in ROOT.rglob("*.py") if chosen.search(path.read_text(encoding="utf-8"))]
    assert places == ["member_changes.py"]
