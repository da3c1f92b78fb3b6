"""The chart's rendered objects: its examples, and the pods of its workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[3] / "helm" / "rebalance-agent"

EXAMPLES = (None, *sorted((CHART / "ci").glob("*-values.yaml")))
"""Files of values that the chart must render with; None: the defaults alone."""


SPARK = {
    "kafka": {"bootstrapServers": "kafka:9092"},
    "imagePullSecrets": [{"name": "pull"}],
    "pipeline": {
        "enabled": True,
        "kind": "SparkApplication",
        "timeZone": "Europe/Berlin",
        "sparkApplication": {"image": "registry.example.com/spark-with-the-agent:1"},
        "sparkProperties": {"spark.sql.shuffle.partitions": 8},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "spark", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "podLabels": {"team": "data"},
        "podAnnotations": {"note": "history"},
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraEnvFrom": [{"secretRef": {"name": "s3"}}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    },
}
"""Values for a cluster with the Spark operator. They are in no file, because `helm lint` has no cluster."""


def example_name(example: Path | None) -> str:
    """The display name of an example."""
    return example.name.removesuffix("-values.yaml") if example else "defaults"


def chosen(example: Path | None) -> tuple[str, ...]:
    """Helm's arguments for an example."""
    return ("--values", str(example)) if example else ()


def objects(text: str) -> list[dict[str, Any]]:
    """The objects of a rendered text, without empty documents."""
    return [each for each in yaml.safe_load_all(text) if each]


def bare_pods(rendered: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A pod from the template of each workload, with its name."""
    for each in rendered:
        if template := _template(each):
            metadata = {
                **template.get("metadata", {}),
                "name": f"{each['kind'].lower()}-{each['metadata']['name']}"[:63],
            }
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _template(each: Mapping[str, Any]) -> dict[str, Any] | None:
    match each["kind"]:
        case "Pod":
            return {"metadata": each["metadata"], "spec": each["spec"]}
        case "CronJob":
            template = each["spec"]["jobTemplate"]["spec"]["template"]
        case "Deployment" | "StatefulSet" | "DaemonSet" | "Job":
            template = each["spec"]["template"]
        case _:
            return None
    return dict(template)
