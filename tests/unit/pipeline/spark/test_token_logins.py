"""The agent's token logins become logins of the Java client: options, regions and credentials."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.spark.kafka_options import java_properties
from rebalance_agent.pipeline.spark.spark_jars import LOGIN_LOCKS, locked_jars
from rebalance_agent.pipeline.spark.token_logins import executor_settings, token_method

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCOPE = "https://example.servicebus.windows.net/.default"
APPLICATION = {"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": 'se"cret'}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_AUTHORITY_HOST", *APPLICATION):
        monkeypatch.delenv(name, raising=False)


def login(method, config=""):
    properties = {"bootstrap.servers": "b:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    return {**properties, "sasl.oauthbearer.method": method, "sasl.oauthbearer.config": config}


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ("", ""),
        ("region=eu-central-1", ""),
        ("profile=kafka", ' awsProfileName="kafka"'),
        (
            "region=eu-central-1,role_arn=arn:aws:iam::1:role/r,profile=kafka",
            ' awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="rebalance-agent" awsStsRegion="eu-central-1"',
        ),
        ("role_arn=r", ' awsRoleArn="r" awsRoleSessionName="rebalance-agent"'),
    ],
)
def test_options_of_msk_are_options_of_amazons_java_library(config, options):
    found = java_properties(login("aws-msk-iam", config))
    assert found["sasl.jaas.config"] == f"{MODULE} required{options};"
    assert found["sasl.login.callback.handler.class"].startswith("software.amazon.msk.auth.iam.")
    assert not any("oauthbearer.config" in name or "oauthbearer.method" in name for name in found)


def test_executors_get_the_region_of_the_option_or_of_the_environment(monkeypatch):
    assert executor_settings(login("aws-msk-iam")) == {}
    assert executor_settings(login("aws-msk-iam", "region=a")) == {"spark.executorEnv.AWS_REGION": "a"}
    monkeypatch.setenv("AWS_DEFAULT_REGION", "b")  # Java's SDK does not read this variable
    assert executor_settings(login("aws-msk-iam")) == {"spark.executorEnv.AWS_REGION": "b"}
    assert executor_settings(login("gcp")) == executor_settings({}) == {}


def test_only_a_login_with_tokens_of_msk_needs_amazons_jar():
    assert token_method(login("aws-msk-iam")) in LOGIN_LOCKS
    plaintext = {**login("aws-msk-iam"), "security.protocol": "PLAINTEXT"}
    plain = {**login("aws-msk-iam"), "sasl.mechanism": "PLAIN"}
    assert [token_method(each) for each in (plaintext, plain, login("oidc"), {})] == [""] * 4
    added = [jar.coordinate for jar in locked_jars("aws-msk-iam") if jar not in locked_jars()]
    assert added == ["software.amazon.msk:aws-msk-iam-auth:2.3.9:all"]
    assert locked_jars("azure") == locked_jars("gcp") == locked_jars()


@pytest.mark.parametrize(
    ("authority", "url"),
    [
        (None, "https://login.microsoftonline.com/tenant/oauth2/v2.0/token"),
        ("login.partner.example", "https://login.partner.example/tenant/oauth2/v2.0/token"),
        ("https://login.partner.example/", "https://login.partner.example/tenant/oauth2/v2.0/token"),
    ],
)
def test_azure_is_kafkas_own_login_with_the_secret_in_the_environment(monkeypatch, authority, url):
    for name, value in {**APPLICATION, "AZURE_AUTHORITY_HOST": authority}.items():
        if value:
            monkeypatch.setenv(name, value)
    found = java_properties(login("azure", f"scope={SCOPE}"))
    assert found["sasl.oauthbearer.token.endpoint.url"] == url
    assert found["sasl.jaas.config"] == (
        f'{MODULE} required clientId="client" clientSecret="se\\"cret" scope="{SCOPE}";'
    )


@pytest.mark.parametrize("missing", APPLICATION)
def test_azure_without_a_secret_is_an_error_that_names_the_alternative(monkeypatch, missing):
    for name, value in APPLICATION.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInputError, match=r"only with a client secret: set .* or log in with PLAIN"):
        java_properties(login("azure", f"scope={SCOPE}"))


@pytest.mark.parametrize(
    ("method", "config", "message"),
    [
        ("azure", "", "the scope is missing"),
        ("aws-msk-iam", "regoin=x", "has no option 'regoin'"),
        ("gcp", "region=x", "gcp has no option 'region'"),
    ],
)
def test_wrong_options_are_errors(method, config, message):
    with pytest.raises(InvalidInputError, match=message):
        java_properties(login(method, config))
