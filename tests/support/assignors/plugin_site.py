"""Packages with strategies, as pip installs them: their modules and metadata in a folder for ``sys.path``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

from rebalance_agent.assignors import STRATEGIES, strategy_registry
from rebalance_agent.assignors.plugins.installed_plugins import ENTRY_POINT_GROUP, Plugins

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "rendezvous"


class Entry:
    """An entry point; ``found``: the object in its module, or the exception that the import raises."""

    def __init__(self, name, found, package="acme", version="1.0"):
        self.name, self.value, self._found = name, f"{package}.module:OBJECT", found
        self.dist = SimpleNamespace(name=package, version=version)
        self.imports = 0

    def load(self):
        self.imports += 1
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found


def declared(monkeypatch, *entries):
    """Make ``entries`` the only installed ones in this process; return them."""
    monkeypatch.setattr(strategy_registry, "_PLUGINS", Plugins(STRATEGIES, lambda: entries))
    return entries


def install(site, project=EXAMPLE):
    """Unpack the wheel of a project into the folder ``site``, as an installation does; return the folder."""
    with TemporaryDirectory() as folder:
        (wheel,) = WheelBuilder(str(project)).build(directory=folder)
        with ZipFile(wheel) as packed:
            packed.extractall(site)
    return site


def declare(site, package, version="1.0", /, **strategies):
    """Put the metadata of a distribution that declares ``strategies`` (name -> module:object) into ``site``."""
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [f"{name} = {value}" for name, value in strategies.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINT_GROUP}]", *lines, ""]))
    return site


def run(site, *arguments, stdin=None, folder=None):
    """Run a separate Python process with the packages in ``site``; ``arguments`` are those of ``python``.

    ``folder``: its working directory, by default that of this process.
    """
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        input=stdin,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT / "agent")])},
    )


def command(site, *arguments, stdin=None):
    """Run ``rebalance-agent`` with the packages in ``site``."""
    return run(site, "-m", "rebalance_agent.cli.main", *arguments, stdin=stdin)
