"""Settings: a YAML or TOML file, variables of the environment, and texts with their own grammar."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

from fuzz.target import MB, Target
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.group_rules import parse_rules
from rebalance_agent.gateway.transport.free_ports import address_problem
from rebalance_agent.instrumentation.delivery.endpoint import TOKEN_VARIABLE, URL_VARIABLE, Endpoint
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.redacted import shown_settings
from rebalance_agent.runtime.settings.roles import ENV_PREFIX, ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import SettingsErrors, load, misspelt_environment
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.tracking.patterns.copartition import Copartitioned

__all__ = ["TARGETS"]

MODELS = (ObserverSettings, GatewaySettings)
WORDS = (
    *(name.encode() for model in MODELS for name in model.model_fields),
    *b": |\n|&a|*a|!!|<<: *a|[|{|- |'|1e9|.inf|~|0x7f|2026-01-01".split(b"|"),
)


@cache
def folder():
    made = Path(tempfile.mkdtemp(prefix="fuzzed-settings-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _loaded(model, file):
    try:
        shown_settings(load(model, file, {}))
    except SettingsErrors as error:
        if any("\n" in line for line in error.lines):
            raise AssertionError(error.lines) from error


def take_file(data):
    """The first byte chooses form and role."""
    form = data[0] if data else 0
    path = folder() / ("settings.yaml" if form % 2 else "settings.toml")
    path.write_bytes(data[1:])
    _loaded(MODELS[form // 2 % 2], str(path))


def take_environment(data):
    """Lines of NAME=VALUE; our prefix is added to the names."""
    pairs = [line.partition(b"=") for line in data.replace(b"\0", b"").split(b"\n")]
    given = {ENV_PREFIX + os.fsdecode(name): os.fsdecode(value) for name, equals, value in pairs if name and equals}
    with mock.patch.dict(os.environ, given):
        misspelt_environment()
        for model in MODELS:
            _loaded(model, None)


def take_grammar(data):
    """Rules of a gateway, and declarations of co-partitioning."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (parse_rules, Copartitioned.parse):
        with contextlib.suppress(InvalidInputError):
            parse(text)


def take_address(data):
    """The addresses for an instrumented consumer, a command and a webhook's sink; a second line may have a token."""
    url, _, token = data.decode("utf-8", "surrogateescape").partition("\n")
    with contextlib.suppress(InvalidInputError):
        Endpoint.of(environ={URL_VARIABLE: url, TOKEN_VARIABLE: token})
    with contextlib.suppress(InvalidInputError):
        AgentApi(url)
    with contextlib.suppress(ValueError):
        address_problem((webhook_target(url).host, 1))
    assert address_problem((url, 0))


def files():
    yaml = b"settle_seconds: 1\nlisten: '[::1]:29308'\ngroups_deny: 'a|b'\nkafka:\n  bootstrap.servers: k:9092\n"
    toml = b'list_interval_ms = 100\ncopartitioned = "a=b,c"\n[kafka]\n"bootstrap.servers" = "k:9092"\nx_y = true\n'
    gateway = b"gateway_groups: 'orders.*=weighted-sticky,assignment.consumer.weight=3'\nlisten: 127.0.0.1:0\n"
    return [b"\1" + yaml, b"\0" + toml, b"\3" + gateway]


def environments():
    return [b"SETTLE_SECONDS=2\nKAFKA__BOOTSTRAP_SERVERS=k:9092\nLISTEN=127.0.0.1:1\nKAFKA={}\nLOG_LEVEL=debug"]


def grammars():
    return [
        b"orders.*=weighted-sticky,assignment.consumer.weight=3; .*=failover,assignment.consumer.priority=-1",
        b"billing-.*=orders,refunds; joins\n.*=a,b,c",
    ]


def addresses():
    """Addresses without https, which would read the trusted certificates for each input."""
    return [b"http://127.0.0.1:29309/v1/events\nsecret", b"http://[::1%25lo]:1", b"http://b\xc3\xbccher.example/?a=b#c"]


TARGETS = (
    Target("settings-file", take_file, files, WORDS, 2.0, 8 * MB, 4_000, 2_000),
    Target("environment", take_environment, environments, WORDS, 2.0, 8 * MB, 4_000, 1_000),
    Target("grammar", take_grammar, grammars, (b"=", b"; ", b",assignment."), 2.0, 8 * MB, 4_000, 1_000),
    Target("address", take_address, addresses, (b"http://", b":", b"@", b"[", b"xn--", b"%"), length_max=5_000),
)
