from __future__ import annotations

import logging
import os

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S, Reloaded
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.runtime.settings.listener_security import token_file
from support.kafka.certificates import Authority, needs_openssl


@pytest.mark.parametrize("error", [InvalidInputError("token", "is empty"), PermissionError(13, "no"), ValueError("?")])
def test_an_invalid_changed_file_keeps_its_former_content_and_is_logged_once(tmp_path, caplog, error):
    file, clock = tmp_path / "secret", FakeClock()
    file.write_text("one")

    def load():
        if file.read_text() == "broken":
            raise error
        return file.read_text()

    def look():
        clock.advance(round(LOOK_AGAIN_S * 1000))
        return reloaded.get()

    with caplog.at_level(logging.WARNING):
        reloaded = Reloaded([str(file)], load, clock)
        file.write_text("broken")
        assert [look(), look()] == ["one", "one"]
        assert len(caplog.records) == 1
        file.write_text("two")
        assert look() == "two"


def test_a_deleted_file_keeps_its_former_content(tmp_path, caplog):
    file, clock = tmp_path / "secret", FakeClock()
    file.write_text("one")
    reloaded = Reloaded([str(file)], file.read_text, clock)
    file.unlink()
    for _ in range(3):
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert reloaded.get() == "one"
    assert len(caplog.records) == 1
    file.write_text("two")
    clock.advance(round(LOOK_AGAIN_S * 1000))
    assert reloaded.get() == "two"


def _secret(path, clock):
    return token_file("token", str(path), clock).get


def _pair(path, clock):
    return ServerTls(TlsFiles(str(path), str(path)), clock).context


def _authority(path, clock):
    return Reloaded([str(path)], lambda: client_context(("ca", str(path))), clock).get


def _certificate(path, clock):
    own = ("cert", str(path))
    return Reloaded([str(path)], lambda: client_context(certificate=own, key=("key", str(path))), clock).get


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    own = Authority(tmp_path_factory.mktemp("authority")).issue("own")
    return own.chain.read_text() + own.key.read_text()


@needs_openssl
@pytest.mark.parametrize("made", [_secret, _pair, _authority, _certificate])
@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link to a fifo"])
def test_a_path_that_is_no_longer_a_regular_file_does_not_block(tmp_path, caplog, pem, made, kind):
    """A FIFO without a writer would block every request, and the end of the process."""
    path, clock = tmp_path / "file", FakeClock()
    path.write_text("t" * 20 if made is _secret else pem)
    get = made(path, clock)
    before = get()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        fifo = tmp_path / "fifo" if "link" in kind else path
        os.mkfifo(fifo)
        if fifo != path:
            path.symlink_to(fifo)
    caplog.clear()
    clock.advance(round(LOOK_AGAIN_S * 1000))
    assert get() is before
    (said,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert "the previous contents stay in use" in said
    assert str(path) in said
