"""The boards match the dashboard types of Grafana 11 and 12, checked by TypeScript."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from support.charts.boards import boards
from support.runner.node import packages, program

HERE = Path(__file__).parent
SCHEMAS = ("schema-11", "schema-12")
"""Types of 11.0, the oldest supported version, and of the newest; ``package.json`` has the versions."""

SECONDS_MAX = 280
"""One to three seconds on an idle machine."""

OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler")
TARGET = ("--target", "es2022", "--lib", "es2022,dom")

pytestmark = pytest.mark.timeout(900)  # the first run downloads packages


FLEET = boards()["rebalance-fleet"]
BROKEN = {
    "a number for a choice": {**FLEET, "graphTooltip": 7},
    "a name that is none": {**FLEET, "panels": [{**FLEET["panels"][0], "gridPosition": {}}]},
    "a number for a text": {**FLEET, "refresh": 30},
}


@pytest.fixture(scope="module")
def said():
    """(Grafana's version, document) -> the compiler's output. A single run, because reading the types takes most of the
    time."""
    folder, documents = packages(), {**boards(), **BROKEN}
    with tempfile.TemporaryDirectory(dir=folder) as name:
        files = {}
        for schema in SCHEMAS:
            types = (HERE / "board.d.ts").read_text().replace("@grafana/schema", f"@grafana/{schema}")
            (Path(name) / f"{schema}.d.ts").write_text(types)
            for at, (title, document) in enumerate(documents.items()):
                path = Path(name) / f"{schema}-{at}.ts"
                path.write_text(
                    f"import type {{ Board }} from './{schema}';\nexport const x: Board = {json.dumps(document)};"
                )
                files[schema, title] = path
        compiler = str(folder / "node_modules" / "typescript" / "bin" / "tsc")
        paths = map(str, files.values())
        done = program("node", compiler, *OPTIONS, *TARGET, *paths, folder=folder, seconds=SECONDS_MAX)
        lines = (done.stdout + done.stderr).splitlines()
        return {key: [line for line in lines if path.name in line] for key, path in files.items()} | {None: lines}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_boards_have_the_types_of_both(schema, said):
    assert {uid: said[schema, uid] for uid in boards() if said[schema, uid]} == {}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("title", BROKEN)
def test_unknown_fields_are_detected(title, schema, said):
    assert said[schema, title], said[None]
