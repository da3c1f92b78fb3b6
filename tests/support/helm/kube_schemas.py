"""JSON schemas of Kubernetes' and custom resources for kubeconform, from their definitions.

In these schemas objects allow only defined fields; Kubernetes' own documents do not restrict this.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

LOCATION = "{{ .ResourceKind }}{{ .KindSuffix }}.json"
"""Names of the files, as kubeconform's ``-schema-location`` finds them in their folder."""


CUSTOM = ("servicemonitors", "podmonitors", "prometheusrules", "scheduledsparkapplications")
"""Custom resources in the chart; the operators have others, whose definitions are long."""


class _Loader(yaml.CSafeLoader):
    """Reads a bare ``=``, which was special in old YAML, as a string."""


_Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)


def write_schemas(folder: Path, kubernetes: Path, *definitions: Path) -> None:
    """Write a file for each kind of Kubernetes' OpenAPI v3 documents and of operators' definitions."""
    for path in kubernetes.glob("*_openapi.json"):
        document = _closed(json.loads(path.read_text(encoding="utf-8")))
        _write(folder / path.name, document)
        for name, each in document["components"].get("schemas", {}).items():
            for kind in each.get("x-kubernetes-group-version-kind", ()):
                refers = {"$ref": f"{path.name}#/components/schemas/{name}"}
                _write(folder / _name(kind["group"], kind["version"], kind["kind"]), refers)
    for custom in CUSTOM:
        (path,) = (path for each in definitions for path in each.glob(f"*_{custom}.yaml"))
        spec = yaml.load(path.read_bytes(), _Loader)["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            _write(folder / _name(spec["group"], version["name"], spec["names"]["kind"]), schema)


def _write(path: Path, schema: object) -> None:
    path.write_text(json.dumps(schema), encoding="utf-8")


def _name(group: str, version: str, kind: str) -> str:
    suffix = f"-{group.partition('.')[0]}-{version}" if group else f"-{version}"
    return f"{kind.lower()}{suffix}.json"


def _closed(schema: Any) -> Any:
    """The schema with ``additionalProperties: false`` where properties are listed and unknown ones are not kept."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema and not _keeps(schema):
        closed.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        closed.pop("type", None)
    return closed


def _keeps(schema: dict[str, Any]) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))
