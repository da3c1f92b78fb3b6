"""``rebalance-agent gateway``: a wrong setting ends it with exit code 2 and a message that names it."""

from __future__ import annotations

import logging
import socket

import pytest
import structlog

from rebalance_agent.cli import main

UNVERIFIED = ["--kafka", "security.protocol=SSL", "--kafka", "enable.ssl.certificate.verification=false"]


@pytest.fixture(autouse=True)
def _logging_as_it_was():
    root = logging.getLogger()
    before = root.handlers, root.level
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        ([], "kafka.bootstrap.servers: is missing: add --bootstrap-servers HOST:PORT,..."),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-listen", "TAKEN"], "cannot listen on TAKEN"),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-listen", "0.0.0.0:0"], "gateway_listen: 0.0.0.0 can be"),
        (["--bootstrap-servers", "127.0.0.1:1", "--gateway-groups", "g=nothing"], "gateway_groups: rule 'g=nothing'"),
        (
            ["--bootstrap-servers", "127.0.0.1:1", "--gateway-tls-cert-file", "/no/such"],
            "gateway_tls_key_file: is missing",
        ),
        (
            ["--bootstrap-servers", "127.0.0.1:1", *UNVERIFIED],
            "kafka.enable.ssl.certificate.verification: must be true",
        ),
    ],
)
def test_a_gateway_that_cannot_start_ends_with_2_and_the_reason(capsys, taken, flags, reported):
    anywhere = ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0", "--events-topic", ""]
    assert main.main(["gateway", *anywhere, *(flag.replace("TAKEN", taken) for flag in flags)]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rebalance-agent gateway: ")]
    assert [line.startswith(f"rebalance-agent gateway: {reported.replace('TAKEN', taken)}") for line in lines] == [True]
