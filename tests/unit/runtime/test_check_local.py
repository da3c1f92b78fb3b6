"""What a role refuses to start with, `check` says first, and in the same words."""

from __future__ import annotations

import os

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.check.findings import Status
from rebalance_agent.runtime.check.local import local_findings
from rebalance_agent.runtime.observer import Observer
from rebalance_agent.runtime.settings import ObserverSettings, SidecarSettings
from rebalance_agent.runtime.sidecar import Sidecar

ROLES = {"observer": (Observer, ObserverSettings), "sidecar": (Sidecar, SidecarSettings)}


@pytest.fixture
def named(tmp_path):
    """Paths by what is there."""
    (tmp_path / "token").write_text("abcdefgh" * 4)
    (tmp_path / "no-certificate").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    return {
        "TOKEN": str(tmp_path / "token"),
        "NO_CERTIFICATE": str(tmp_path / "no-certificate"),
        "FIFO": str(tmp_path / "fifo"),
        "DIRECTORY": str(tmp_path),
        "NOWHERE": str(tmp_path / "none" / "events"),
        "TOO_LONG": str(tmp_path / ("x" * 300)),
    }


def settings_of(kind, chosen):
    usual = {"listen": "127.0.0.1:0"} | ({"events_listen": "127.0.0.1:0"} if kind is SidecarSettings else {})
    return kind(**{**usual, **chosen})


@pytest.mark.parametrize(
    ("role", "chosen"),
    [
        ("sidecar", {"events_listen": "0.0.0.0:0"}),
        ("sidecar", {"events_tls_key_file": "TOKEN"}),
        ("sidecar", {"events_tls_client_ca_file": "TOKEN"}),
        ("sidecar", {"events_token_file": "NOWHERE"}),
        ("observer", {"events_listen": "0.0.0.0:0"}),
        ("observer", {"events_listen": "127.0.0.1:0", "events_tls_key_file": "TOKEN"}),
        ("observer", {"tls_cert_file": "TOKEN"}),
        ("observer", {"tls_key_file": "TOKEN"}),
        ("observer", {"tls_client_ca_file": "TOKEN"}),
        ("observer", {"events_webhook": "http://192.0.2.1/secret", "events_webhook_token_file": "TOKEN"}),
        ("observer", {"events_webhook": "http://127.0.0.1:1/secret", "events_webhook_ca_file": "NO_CERTIFICATE"}),
        ("observer", {"events_webhook": "http://127.0.0.1:1/secret", "events_webhook_token_file": "NOWHERE"}),
        ("observer", {"events_webhook": "https://127.0.0.1:1/secret", "events_webhook_cert_file": "TOKEN"}),
        ("observer", {"events_webhook": "https://127.0.0.1:1/secret", "events_webhook_key_file": "TOKEN"}),
        ("observer", {"events_file": "/dev/null"}),
        ("observer", {"events_file": "FIFO"}),
        ("observer", {"events_file": "DIRECTORY"}),
        ("observer", {"events_file": "TOO_LONG"}),
    ],
)
def test_what_a_role_refuses_fails_the_check_in_the_same_words(named, role, chosen):
    make, kind = ROLES[role]
    settings = settings_of(kind, {name: named.get(value, value) for name, value in chosen.items()})
    with pytest.raises(InvalidInputError) as refused:
        make(settings, {})
    found = list(local_findings(settings, SystemClock()))
    assert str(refused.value) in [each.detail for each in found if each.status is Status.FAILED]
    assert all(each.fix for each in found if each.status is Status.FAILED)
    assert "secret" not in repr(found)


def test_an_events_file_is_neither_made_nor_changed_by_the_check(tmp_path, named):
    def found(path):
        settings = settings_of(ObserverSettings, {"events_file": str(path)})
        (row,) = (each for each in local_findings(settings, SystemClock()) if each.name.startswith("events_file"))
        return row.status

    there, link = tmp_path / "events", tmp_path / "link"
    link.symlink_to(there)
    assert (found(there), found(link)) == (Status.OK, Status.OK)
    assert not there.exists()
    there.write_text("kept\n")
    assert (found(there), found(link)) == (Status.OK, Status.OK)
    assert there.read_text() == "kept\n"
    assert found(named["NOWHERE"]) is Status.FAILED


def test_a_webhooks_token_file_is_no_matter_without_a_webhook(named):
    settings = settings_of(SidecarSettings, {"events_webhook_token_file": named["NOWHERE"]})
    assert {each.status for each in local_findings(settings, SystemClock())} == {Status.OK}
    Sidecar(settings, {})
