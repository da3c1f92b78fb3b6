"""`check` reports errors that prevent a role's start, with the same messages."""

from __future__ import annotations

import os
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.preflight.findings import FindingStatus
from rebalance_agent.runtime.preflight.local_checks import local_findings
from rebalance_agent.runtime.processes.observer import Observer
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.kafka.certificates import Authority, needs_openssl

ROLES = {"observer": (Observer, ObserverSettings), "sidecar": (Sidecar, SidecarSettings)}


@pytest.fixture
def named(tmp_path):
    """Paths by their kind of file."""
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
    usual = {"listen": "127.0.0.1:0"} | (
        {"events_listen": "127.0.0.1:0"} if kind is SidecarSettings else {"idle": True}
    )
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
def test_settings_refused_by_a_role_fail_the_check_with_the_same_message(named, role, chosen):
    make, kind = ROLES[role]
    settings = settings_of(kind, {name: named.get(value, value) for name, value in chosen.items()})
    with pytest.raises(InvalidInputError) as refused:
        make(settings, {})
    found = list(local_findings(settings, SystemClock()))
    assert str(refused.value) in [each.detail for each in found if each.status is FindingStatus.FAILED]
    assert all(each.fix for each in found if each.status is FindingStatus.FAILED)
    assert "secret" not in repr(found)


def test_the_check_neither_creates_nor_changes_an_events_file(tmp_path, named):
    def found(path):
        settings = settings_of(ObserverSettings, {"events_file": str(path)})
        (row,) = (each for each in local_findings(settings, SystemClock()) if each.name.startswith("events_file"))
        return row.status

    there, link = tmp_path / "events", tmp_path / "link"
    link.symlink_to(there)
    assert (found(there), found(link)) == (FindingStatus.OK, FindingStatus.OK)
    assert not there.exists()
    there.write_text("kept\n")
    assert (found(there), found(link)) == (FindingStatus.OK, FindingStatus.OK)
    assert there.read_text() == "kept\n"
    assert found(named["NOWHERE"]) is FindingStatus.FAILED


def test_a_webhooks_token_file_is_not_checked_without_a_webhook(named):
    settings = settings_of(SidecarSettings, {"events_webhook_token_file": named["NOWHERE"]})
    assert {each.status for each in local_findings(settings, SystemClock())} == {FindingStatus.OK}
    Sidecar(settings, {})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Paths of tokens and certificates by their state."""
    folder = tmp_path_factory.mktemp("listening")
    authority = Authority(folder)
    named = {"CA": str(authority.certificate.chain), "TOKEN": str(folder / "token")}
    (folder / "token").write_text("abcdefgh" * 4)
    for name, expired in (("OWN", False), ("OTHER", False), ("OLD", True)):
        made = authority.issue(name, expired=expired)
        named |= {name: str(made.chain), f"{name}_KEY": str(made.key)}
    return named


@contextmanager
def running(files, chosen):
    """The settings of a listening sidecar, with its ports."""
    settings = settings_of(SidecarSettings, {name: files.get(value, value) for name, value in chosen.items()})
    sidecar = Sidecar(settings, {})
    sidecar._events.start()
    sidecar._web.start()
    try:
        ports = {"listen": sidecar.port, "events_listen": sidecar.events_port}
        yield settings.model_copy(update={name: f"127.0.0.1:{port}" for name, port in ports.items()})
    finally:
        sidecar._web.stop()
        sidecar._events.stop()


def listeners(settings):
    found = local_findings(settings, SystemClock())
    return {name: each.detail for each in found if (name := each.name.split()[0]) != "file"}


TLS = {"tls_cert_file": "OWN", "tls_key_file": "OWN_KEY"}
ASKS = {"web_token_file": "TOKEN", "web_token_for_health": True}


@needs_openssl
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        ASKS,
        TLS,
        TLS | ASKS,
        TLS | {"tls_client_ca_file": "CA"},
        {"tls_cert_file": "OLD", "tls_key_file": "OLD_KEY"},
        {"events_tls_cert_file": "OTHER", "events_tls_key_file": "OTHER_KEY", "events_tls_client_ca_file": "CA"},
    ],
)
def test_a_check_recognises_a_running_agent_with_any_authentication(files, chosen):
    with running(files, chosen) as settings:
        in_use = "in use by a running agent; a second agent needs another address"
        assert listeners(settings) == {
            "listen": f"{in_use}: --listen",
            "events_listen": f"{in_use}: --events-listen",
        }


@needs_openssl
@pytest.mark.parametrize("clients", [{}, {"tls_client_ca_file": "CA"}])
@pytest.mark.parametrize("somebody", [{}, {"tls_cert_file": "OTHER", "tls_key_file": "OTHER_KEY"}])
def test_a_listener_with_another_certificate_is_another_program(files, clients, somebody):
    wanted = {name: files[value] for name, value in (TLS | clients).items()}
    with running(files, somebody) as settings:
        found = listeners(settings.model_copy(update=wanted))
    assert set(found.values()) == {"cannot listen: Address already in use"}


@needs_openssl
def test_a_listener_with_our_certificate_and_another_response_is_another_program(files):
    chosen = {name: files[value] for name, value in TLS.items()}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*chosen.values())
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as somebody:
        somebody.socket = context.wrap_socket(somebody.socket, server_side=True)
        thread = threading.Thread(target=somebody.serve_forever, args=(0.01,))
        thread.start()
        found = listeners(settings_of(ObserverSettings, chosen | {"listen": f"127.0.0.1:{somebody.server_port}"}))
        somebody.shutdown()
        thread.join()
    assert found == {"listen": "cannot listen: Address already in use"}
