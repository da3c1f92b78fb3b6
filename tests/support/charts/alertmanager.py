"""A real Alertmanager that gets alerts in Prometheus' format, and the resulting notifications."""

from __future__ import annotations

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.broker_settings import HOST, free_ports
from support.http.servers import LOOPBACK, Server
from support.runner import tools

ROOT = Path(__file__).parents[3]
AMTOOL = os.environ.get(tools.AMTOOL) or shutil.which("amtool")
ANSWER_SECONDS_MAX = 30
_SHARE = "/usr/share/prometheus/alertmanager"

needs_alertmanager = pytest.mark.skipif(AMTOOL is None, reason="amtool was not found (see make test)")


class Alertmanager(Server):
    """A server with a configuration, without peers."""

    def __init__(self, configuration: Path, folder: Path):
        address = f"{HOST}:{free_ports(1)[0]}"
        program, root = binary()
        command = [
            str(program),
            f"--config.file={configuration}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--cluster.listen-address=",
            "--log.level=warn",
        ]
        super().__init__(command, f"http://{address}", folder / "alertmanager.log", root)

    def send(self, *firing: Mapping[str, str]) -> None:
        """Send firing alerts, each as its labels."""
        body = json.dumps([{"labels": dict(labels)} for labels in firing]).encode()
        question = urllib.request.Request(
            f"{self.url}/api/v2/alerts", body, headers={"Content-Type": "application/json"}, method="POST"
        )
        with LOOPBACK.open(question, timeout=ANSWER_SECONDS_MAX):
            pass

    def reported(self) -> Sequence[Mapping[str, object]]:
        """The alerts in the server, with their status and receivers."""
        with LOOPBACK.open(f"{self.url}/api/v2/alerts", timeout=ANSWER_SECONDS_MAX) as answer:
            return json.loads(answer.read())


def documented(folder: Path) -> Path:
    """Return the configuration described in ``docs/alerts.md``, as a file in ``folder``."""
    page = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    (routing,) = re.findall(r"^```yaml\n(route:.*?)^```", page, re.MULTILINE | re.DOTALL)
    inhibition = (ROOT / "alerts" / "alertmanager" / "inhibit.yaml").read_text(encoding="utf-8")
    path = folder / "alertmanager.yml"
    path.write_text(f"{routing}\n{inhibition}")
    return path


def binary() -> tuple[Path, Path | None]:
    """The server beside amtool (with Debian's name or its own) or on PATH, and its working directory."""
    names = ("prometheus-alertmanager", "alertmanager")
    beside = [Path(AMTOOL).with_name(name) for name in names] if AMTOOL else []
    on_path = [Path(found) for found in map(shutil.which, names) if found]
    found = next((each for each in (*beside, *on_path) if each.exists()), None)
    assert found, f"no Alertmanager beside {AMTOOL}"
    root = found.parent.parent.parent  # the parent of usr/bin
    return (_anywhere(found), root) if (root / _SHARE[1:]).exists() and root != Path("/") else (found, None)


def _anywhere(unpacked: Path) -> Path:
    """A copy of Debian's build that reads its templates relative to its working directory instead of in `_SHARE`."""
    program = unpacked.with_name("alertmanager-anywhere")
    if not program.exists():
        here = _SHARE[1:].replace("/prometheus", "//prometheus")  # with unchanged length
        unfinished = program.with_name(f"{program.name}.{os.getpid()}")
        unfinished.write_bytes(unpacked.read_bytes().replace(_SHARE.encode(), here.encode()))
        unfinished.chmod(0o755)
        unfinished.rename(program)
    return program
