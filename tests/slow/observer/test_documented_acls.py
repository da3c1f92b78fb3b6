"""The commands of docs/reference/rights.md, run unchanged, grant exactly the rights that are needed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rebalance_agent.cli import main
from rebalance_agent.testing import EmbeddedKafka, Listener

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rights.md"
PASSWORD = "not-a-secret"
ROLES = ("observer", "sidecar")


def commands(role):
    lines = re.findall(r"^kafka-acls\.sh .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines if f"User:{role} " in line]


@pytest.fixture(scope="module")
def kafka():
    users = dict.fromkeys(ROLES, PASSWORD)
    with EmbeddedKafka(listeners={"USERS": Listener.sasl("PLAIN", users)}, authorizer=True) as kafka:
        for words in (words for role in ROLES for words in commands(role)):
            words[words.index("--bootstrap-server") + 1] = kafka.bootstrap_servers
            done = kafka.run_tool("org.apache.kafka.tools.AclCommand", *words)
            assert done.returncode == 0, done.stdout + done.stderr
        yield kafka


@pytest.mark.parametrize(("role", "user"), [*zip(ROLES, ROLES, strict=True), ("gateway", "sidecar")])
def test_the_documented_commands_grant_all_necessary_rights(kafka, role, user, capsys, monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA__SASL_PASSWORD", PASSWORD)
    settings = {
        "bootstrap.servers": kafka.address("USERS"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
    }
    flags = [f"--kafka={name}={value}" for name, value in settings.items()]
    if role == "observer":
        flags.append("--replicas-group=rebalance-agent")
    else:
        flags.append("--events-listen=127.0.0.1:0")  # its default port may be in use
    if role == "gateway":
        flags += ["--gateway-listen=127.0.0.1:0", "--gateway-port-base=0", "--gateway-groups=.*=sticky"]
    code = main.main(["check", "--json", f"--role={role}", "--listen=127.0.0.1:0", *flags])
    report = json.loads(capsys.readouterr().out)
    assert [each for each in report["checks"] if each["status"] in ("missing", "failed")] == []
    assert code == 0
    assert commands(user)
