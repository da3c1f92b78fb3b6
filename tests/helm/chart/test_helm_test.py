"""The program of `helm test` against real listeners, as its pod runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager

from rebalance_agent.clock import SystemClock
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from rebalance_agent.runtime.listeners.web import WebApp
from support.helm.rendered import CHART
from support.kafka.certificates import Authority, needs_openssl

PROGRAM = (CHART / "files" / "tests" / "observer.py").read_text(encoding="utf-8")
TOKEN = "abcdefgh" * 4
OWN = b'rebalance_agent_build_info{version="1"} 1\nrebalance_agent_configured{cluster="a"} 1\n'
IDLE = OWN.replace(b"} 1\n", b"} 0\n")
MEBIBYTE = 1 << 20
MANY = (b'kafka_rebalance_members{consumergroup="orders"} 3\n' * 21_000)[:MEBIBYTE]

MEASURED = """
import atexit, resource
atexit.register(lambda: print("peak KiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


@contextmanager
def observer(page=OWN, readiness=None, tls=None, bearer=None):
    """Its listen address."""
    web = WebApp((lambda _dialect: page,), readiness or Readiness(), bearer=bearer)
    server = HttpServer("127.0.0.1", 0, web, tls=tls)
    server.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    finally:
        server.stop()


def asked(*arguments, program=PROGRAM):
    """Exit code and output."""
    environment = os.environ | dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:1")
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_ready_observer_prints_its_version():
    with observer() as url:
        code, reported = asked(url, "", "")
    assert code == 0
    assert 'rebalance_agent_build_info{version="1"} 1' in reported
    assert "it is idle" not in reported


def test_an_observer_without_brokers_is_ready_and_idle():
    with observer(IDLE) as url:
        code, reported = asked(url)
    assert code == 0
    assert "it is idle: kafka.bootstrapServers is empty" in reported


def test_an_observer_that_is_not_ready_prints_the_reason():
    readiness = Readiness()
    readiness.unready("cluster", "no broker answers")
    with observer(readiness=readiness) as url:
        code, reported = asked(url)
    assert code == 1
    assert "no broker answers" in reported
    assert "the observer is not ready" in reported


@needs_openssl
def test_the_observers_certificate_is_trusted_and_the_token_sent(tmp_path):
    authority = Authority(tmp_path)
    own, other = authority.issue("observer", "DNS:rebalance-agent.monitoring.svc"), authority.issue("other")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    tls = ServerTls(TlsFiles(str(own.chain), str(own.key)), SystemClock())
    with observer(tls=tls, bearer=Bearer(TOKEN)) as url:
        assert asked(url, tmp_path / "token", own.chain)[0] == 0
        code, reported = asked(url, "", own.chain)
        assert (code, "/metrics answers 401" in reported) == (1, True)
        code, reported = asked(url, tmp_path / "token", other.chain)
        assert (code, "CERTIFICATE_VERIFY_FAILED" in reported) == (1, True)


def test_thousands_of_groups_need_no_more_memory_than_a_few():
    def peak_kib(page):
        with observer(page) as url:
            code, reported = asked(url, program=PROGRAM.replace("\nimport ssl", f"{MEASURED}\nimport ssl", 1))
        assert (code, "rebalance_agent_build_info" in reported) == (0, True)
        return int(reported.partition("peak KiB ")[2].split()[0])

    few, thousands = peak_kib(OWN), peak_kib([MANY] * 40 + [b"\n" + OWN])
    assert thousands - few < 10 * 1024
