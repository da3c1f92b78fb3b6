"""A broker that accepts tokens of IAM as Amazon MSK does."""

from __future__ import annotations

from contextlib import contextmanager

from rebalance_agent.testing import EmbeddedKafka, Listener
from rebalance_agent.testing.kafka.java import java_runtime
from support.java.client_jar import HERE, compiled_sources

KEY_ID = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
"""The access key of AWS's published examples."""

REGION = "eu-central-1"

LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "aws-msk-iam",
    "sasl.oauthbearer.config": f"region={REGION}",
}
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@contextmanager
def msk_kafka(folder):
    """The broker; its listener ``IAM`` verifies the signature of each token with the secret of `KEY_ID`."""
    compiled_sources(java_runtime().jars, folder / "classes", HERE / "iam")
    options = f'unsecuredLoginStringClaim_sub="broker" secret_{KEY_ID}="{SECRET}"'
    listener = Listener(
        "SASL_PLAINTEXT",
        {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "oauthbearer.sasl.jaas.config": f"{_MODULE} required {options};",
            "oauthbearer.sasl.server.callback.handler.class": "MskIamHandler",
        },
    )
    with EmbeddedKafka(listeners={"IAM": listener}, class_path=[folder / "classes"]) as kafka:
        yield kafka


def aws_environment(monkeypatch, key_id=KEY_ID, secret=SECRET):
    """AWS credentials in the environment, and no other source of any."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    for name, value in (("AWS_ACCESS_KEY_ID", key_id), ("AWS_SECRET_ACCESS_KEY", secret)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
