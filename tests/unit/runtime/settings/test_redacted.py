"""/config shows the effective settings without secrets."""

from __future__ import annotations

import io
import json
import logging
import os
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
import structlog
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.messages import Request
from rebalance_agent.runtime.processes.logs import configure_logs
from rebalance_agent.runtime.processes.observer import Observer
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.kafka_config import SECRET_PROPERTIES, client_properties
from rebalance_agent.runtime.settings.redacted import REDACTED, shown_settings
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from rebalance_agent.runtime.settings.settings_sources import load
from support.http.asked import joined

LOGS = {"log_level": "debug", "log_format": "json"}
EXAMPLE = "s3cr3t0123456789"
FREE_TEXTS = ("sasl.oauthbearer.config", "ssl.certificate.pem", "sasl.jaas.config", "my.own")


def test_effective_settings_are_shown_with_defaults():
    chosen = ObserverSettings(
        kafka={"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "socket.timeout.ms": "100"},
        groups_deny="x",
        tls_cert_file="/run/tls.crt",
    )
    shown = shown_settings(chosen)["settings"]
    assert shown["kafka"] == dict(chosen.kafka)
    assert (shown["groups_deny"], shown["tls_cert_file"]) == ("x", "/run/tls.crt")
    assert shown["listen"] == "127.0.0.1:29308"
    assert shown.keys() == ObserverSettings.model_fields.keys()


def test_every_possibly_secret_property_is_hidden_and_its_file_named():
    names = (*SECRET_PROPERTIES, *FREE_TEXTS, "sasl.username", "a.key", "some.token")
    chosen = SidecarSettings(
        kafka={**dict.fromkeys(names, "hidden"), "another.password.file": "/run/p", "x.password": "1"}
    )
    shown = shown_settings(chosen)["settings"]["kafka"]
    assert {shown[name] for name in names} == {REDACTED}
    assert (shown["another.password.file"], shown["x.password"]) == ("/run/p", REDACTED)


def test_a_webhooks_address_is_shown_without_possible_secrets():
    chosen = ObserverSettings(events_webhook="https://hooks.example.org/services/secret?token=secret")
    assert shown_settings(chosen)["settings"]["events_webhook"] == "https://hooks.example.org:443"
    assert "secret" not in repr(chosen)


secrets = (
    st.text("abcdefghijkXYZ0123456789-_", min_size=16, max_size=30)
    .filter(lambda text: not text.isdigit())
    .map(lambda text: f"s3cr3t{text}")
)
places = st.fixed_dictionaries(
    {},
    optional={
        "file": st.sampled_from(["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret"]),
        "environment": st.sampled_from(["SASL_PASSWORD", "SSL_KEY_PASSWORD", "SASL_OAUTHBEARER_CONFIG"]),
        "of_file": st.sampled_from(["sasl.password", "ssl.key.password"]),
        "web": st.just("web_token_file"),
        "webhook": st.just("events_webhook_token_file"),
    },
)


@contextmanager
def _logged():
    """Everything logged in the block, at the lowest level."""
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers, root.level
    configure_logs("debug", "json", stream)
    try:
        yield stream
    finally:
        root.handlers, root.level = before
        structlog.reset_defaults()


def _get(role, path, token):
    """A page of a role's application, without its listener."""
    app = role._server._app if isinstance(role, Observer) else role._web._app
    return joined(app(Request("GET", path, {"authorization": f"Bearer {token}"})).body)


@given(secrets, places, st.sampled_from([(Observer, ObserverSettings), (Sidecar, SidecarSettings)]))
@settings(max_examples=15, phases=(Phase.explicit, Phase.generate))
@example(EXAMPLE, {"of_file": "sasl.password", "web": "web_token_file"}, (Observer, ObserverSettings))
@example(EXAMPLE, {"file": "ssl.key.password", "webhook": "events_webhook_token_file"}, (Sidecar, SidecarSettings))
def test_no_secret_of_any_source_is_on_a_page_or_in_the_log(secret, where, role):
    made, model = role
    with tempfile.TemporaryDirectory() as folder, _logged() as log:
        held = Path(folder) / "held"
        held.write_text(f"{secret}\n")
        config = Path(folder) / "settings.yaml"
        in_file = {where["file"]: secret} if "file" in where else {}
        in_file |= {f"{where['of_file']}.file": str(held)} if "of_file" in where else {}
        config.write_text(yaml.safe_dump({"kafka": in_file}))
        environment = {f"REBALANCE_AGENT_KAFKA__{where['environment']}": secret} if "environment" in where else {}
        flags = {name: str(held) for name in (where.get("web"), where.get("webhook")) if name}
        flags |= {"events_webhook": f"http://127.0.0.1:1/{secret}", "listen": "127.0.0.1:0", **LOGS}
        flags |= {"events_listen": "127.0.0.1:0"} if model is SidecarSettings else {}
        reported = ""
        with mock.patch.dict(os.environ, environment):
            try:
                chosen = load(model, str(config), flags)
                role = made(chosen, client_properties(chosen.kafka))
                reported += "".join(
                    _get(role, path, secret).decode() for path in ("/config", "/", "/metrics", "/readyz")
                )
                reported += repr(chosen) + repr(role)
                if secret == EXAMPLE:  # one case suffices, because a run takes long
                    stop = threading.Event()
                    stop.set()
                    role.run(stop)
            except InvalidInputError as error:
                reported += str(error)
        reported += log.getvalue()
    assert reported
    assert secret not in reported


@pytest.mark.parametrize("model", [ObserverSettings, SidecarSettings])
def test_all_settings_can_be_shown_as_json(model):
    assert json.loads(json.dumps(shown_settings(model())))["settings"]
