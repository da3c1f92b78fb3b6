"""The agent's own methods of ``sasl.oauthbearer.method`` become a callback for tokens."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rebalance_agent
from rebalance_agent.cluster.tokens import token_login
from rebalance_agent.cluster.tokens.token_login import check_token_login, with_token_callback, without_token_method
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.kafka_config import client_properties
from support.aws.msk_iam import KEY_ID, LOGIN, REGION, aws_environment

PROPERTIES = {"bootstrap.servers": "127.0.0.1:1", **LOGIN}
PACKAGE = Path(rebalance_agent.__file__).parent
CLIENTS = {"AdminClient", "Consumer", "Producer"}
NO_LOGIN = {
    "demo": "its broker has no login",
    "testing": "the same",
    "clients": "a user's own properties",
    "runtime/settings": "makes clients only to check properties",
    "audit": "has no client",
}


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    token_login.token_cache.cache_clear()
    aws_environment(monkeypatch)


def test_a_client_gets_a_callback_instead_of_the_method():
    properties = with_token_callback(PROPERTIES)
    assert "sasl.oauthbearer.method" not in properties
    text, end_s, principal, extensions = properties["oauth_cb"]("")
    assert text.isascii()
    assert end_s > 1_700_000_000
    assert (principal, extensions) == ("aws-msk-iam", {})


def test_all_clients_of_a_process_share_a_token():
    one, two = (with_token_callback(PROPERTIES)["oauth_cb"]("") for _ in range(2))
    assert one == two


@pytest.mark.parametrize("method", ["default", "oidc", None])
def test_methods_of_librdkafka_are_not_changed(method):
    properties = {"bootstrap.servers": "a:1"} | ({"sasl.oauthbearer.method": method} if method else {})
    assert with_token_callback(properties) == without_token_method(properties) == properties


def test_properties_are_checked_by_librdkafka_and_keep_the_method():
    assert client_properties(PROPERTIES)["sasl.oauthbearer.method"] == "aws-msk-iam"
    with pytest.raises(InvalidInputError, match="nosuch"):
        client_properties(PROPERTIES | {"nosuch": "1"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sasl.mechanism": "PLAIN"}, "kafka.sasl.mechanism: must be OAUTHBEARER for the login aws-msk-iam"),
        ({"sasl.oauthbearer.config": "regoin=x"}, "kafka.sasl.oauthbearer.config: aws-msk-iam has no option 'regoin'"),
        ({"sasl.oauthbearer.config": "eu-central-1"}, "kafka.sasl.oauthbearer.config: must be pairs such as region="),
        ({"sasl.oauthbearer.config": "profile=no, region=x"}, "kafka.sasl.oauthbearer.method: aws-msk-iam: .*no"),
    ],
)
def test_a_login_that_cannot_work_is_an_error_at_the_start(change, message):
    with pytest.raises(InvalidInputError, match=message):
        check_token_login(PROPERTIES | change)


def test_the_mechanism_of_java_clients_is_an_error_that_names_the_right_one():
    with pytest.raises(InvalidInputError, match=r"set OAUTHBEARER, and sasl\.oauthbearer\.method to aws-msk-iam"):
        client_properties(PROPERTIES | {"sasl.mechanism": "AWS_MSK_IAM"})


def test_no_secret_is_in_a_token_or_an_error(monkeypatch):
    text = with_token_callback(PROPERTIES)["oauth_cb"]("")[0]
    assert "secret" not in text.lower()
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    token_login.token_cache.cache_clear()
    with pytest.raises(InvalidInputError) as caught:
        check_token_login(PROPERTIES | {"sasl.oauthbearer.config": f"region={REGION}"})
    assert KEY_ID not in str(caught.value)


def modules_with_clients():
    """Modules that make librdkafka clients, except where there is no login (`NO_LOGIN`)."""
    for path in PACKAGE.rglob("*.py"):
        folder = path.parent.relative_to(PACKAGE).as_posix()
        if any(folder == name or folder.startswith(f"{name}/") for name in NO_LOGIN):
            continue
        calls = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if calls & CLIENTS:
            yield path, calls


def test_each_module_that_makes_clients_gives_them_the_callback():
    modules = dict(modules_with_clients())
    assert len(modules) >= 4
    assert [path.name for path, calls in modules.items() if "with_token_callback" not in calls] == []
