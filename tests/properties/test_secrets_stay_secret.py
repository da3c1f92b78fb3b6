"""No message contains the value of a secret, for any wrong properties."""

from __future__ import annotations

import io
import logging
import string

import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.processes.logs import configure_logs
from rebalance_agent.runtime.settings.kafka_config import SECRET_PROPERTIES, client_properties, without_secrets
from rebalance_agent.runtime.settings.redacted import shown_settings
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import SettingsErrors, load
from support.examples import examples

SECRETS = st.text(string.ascii_letters + string.digits, min_size=24, max_size=40)
"""Long enough not to occur in a text by chance."""

WRONG = st.sampled_from(
    [
        {},
        {"security.protocol": "SSL"},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "nonsense"},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "me"},
        {"security.protocol": "nonsense"},
        {"no.such.property": "1"},
        {"ssl.key.location": "/nowhere", "security.protocol": "SSL"},
    ]
)


@settings(max_examples=examples(60))
@given(st.sampled_from(sorted(SECRET_PROPERTIES)), SECRETS, WRONG)
def test_no_error_shows_a_secret(name, secret, wrong):
    reported = ""
    try:
        client_properties({name: secret, "bootstrap.servers": "127.0.0.1:1", **wrong})
    except InvalidInputError as error:
        reported = str(error)
    assert secret not in reported


@settings(max_examples=examples(60))
@given(
    st.sampled_from(sorted(SECRET_PROPERTIES)), SECRETS, st.sampled_from([{}, {"a": ["b"]}, {"acks": "1"}, {"x": None}])
)
def test_neither_accepted_nor_refused_settings_show_a_secret(name, secret, wrong):
    try:
        loaded = load(ObserverSettings, None, {"kafka": {name: secret, **wrong}})
        reported = f"{loaded!r} {loaded} {shown_settings(loaded)}"
    except SettingsErrors as error:
        reported = str(error)
    assert secret not in reported


@given(st.sampled_from(["json", "console"]), SECRETS)
def test_a_traceback_in_the_log_shows_no_local_variable(form, secret):
    stream = io.StringIO()
    configure_logs("info", form, stream)

    def connect(properties):
        raise RuntimeError(len(properties))

    try:
        connect({"sasl.password": secret})
    except RuntimeError:
        structlog.get_logger("a").exception("failed")
        logging.getLogger("b").exception("failed")
    assert "RuntimeError" in stream.getvalue()
    assert secret not in stream.getvalue()


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_secret_within_a_text_is_replaced_by_stars(secret, before, after):
    shown = without_secrets(before + secret + after, {"sasl.password": secret, "client.id": "me"})
    assert secret not in shown
    assert without_secrets(before, {"sasl.password": secret, "client.id": before}) == before
