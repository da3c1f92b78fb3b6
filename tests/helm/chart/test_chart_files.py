"""Generated files of the chart are current, and every value has a description."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from dashboards.boards import FOLDER
from helm.files import CHART, files
from helm.schema import values_schema

from support.cluster.kube_tools import program

WRITTEN = files()
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WRITTEN, ids=str)
def test_written_files_are_current(path):
    assert (CHART / path).read_text(encoding="utf-8") == WRITTEN[path], "run `make chart`"


def test_there_is_no_obsolete_copy():
    there = {path.relative_to(CHART) for path in (CHART / "files" / "rules").iterdir()}
    assert there == {path for path in WRITTEN if path.parent.name == "rules"}


def test_the_package_contains_the_boards(tmp_path):
    subprocess.run([program("helm"), "package", CHART, "--destination", tmp_path], check=True)
    with tarfile.open(next(tmp_path.glob("*.tgz"))) as package:
        held = {
            Path(name).name: package.extractfile(name).read()
            for name in package.getnames()
            if Path(name).parent.name == "dashboards"
        }
    assert held == {path.name: path.read_bytes() for path in FOLDER.iterdir()}


def test_the_readme_is_the_output_of_helm_docs(tmp_path):
    copy = shutil.copytree(CHART, tmp_path / CHART.name)
    subprocess.run([program("helm-docs"), "--sort-values-order=file", "--chart-search-root", copy], check=True)
    assert (CHART / "README.md").read_text() == (copy / "README.md").read_text(), "run `make chart`"


def leaves(schema, path=""):
    for name, each in schema.get("properties", {}).items():
        if "properties" in each and "additionalProperties" in each:
            assert each["additionalProperties"] is False
            yield from leaves(each, f"{path}{name}.")
        else:
            yield f"{path}{name}", each


def test_every_value_has_a_description():
    assert [name for name, schema in leaves(SCHEMA) if not schema.get("description")] == []


def test_schema_of_a_mapping_is_closed_and_of_an_empty_one_open():
    schema = values_schema("a:\n  # -- Of a.\n  # And more.\n  b: 1\n# -- Free.\nc: {}\n", {})
    assert schema["properties"]["a"] == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"b": {"description": "Of a. And more.", "type": "integer", "minimum": 0}},
    }
    assert schema["properties"]["c"] == {"description": "Free.", "type": "object"}


def test_an_annotation_is_merged_with_the_default_or_replaces_it_with_a_type():
    schema = values_schema("a: x # @schema {enum: [x, y]}\nb: # @schema {type: object}\n  c: 1\n", {})
    assert schema["properties"]["a"] == {"type": "string", "enum": ["x", "y"]}
    assert schema["properties"]["b"] == {"type": "object"}
