"""The users in docs/operate.md have exactly the rights that the agent requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rebalance_agent.pipeline.spark.kafka_options import OWN_GROUPS
from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings

PAGE = Path(__file__).parents[3] / "docs" / "operate.md"

OF_THE_PIPELINE = {
    ("group", OWN_GROUPS, "prefix", "Read"),
    *(("topic", ObserverSettings().baselines_topic, "literal", right) for right in ("Read", "Write", "Create")),
}
"""Rights in addition to the observer's: Spark's consumer groups, and `aggregate --publish` (docs/pipeline.md)."""

NEEDED = {
    "rebalance-agent": ObserverSettings(replicas_group="rebalance-agent"),
    "rebalance-sidecar": SidecarSettings(),
}


def manifests() -> list[dict]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [yaml.safe_load(block) for block in blocks]


def users() -> dict[str, dict]:
    return {each["metadata"]["name"]: each for each in manifests() if each.get("kind") == "KafkaUser"}


@pytest.mark.parametrize("name", NEEDED)
def test_a_user_has_the_rights_of_its_role(name):
    given = {
        (operation, acl["resource"]["type"], acl["resource"]["name"])
        for acl in users()[name]["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    needed = {(right.operation, right.resource.lower(), right.name) for right in agent_rights(NEEDED[name])}
    assert given == needed


def test_the_pipeline_has_its_additional_rights():
    (acls,) = (each["acls"] for each in manifests() if "acls" in each)
    given = {(*acl["resource"].values(), operation) for acl in acls for operation in acl["operations"]}
    assert given == OF_THE_PIPELINE


def test_no_other_user_is_shown():
    assert users().keys() == NEEDED.keys()
