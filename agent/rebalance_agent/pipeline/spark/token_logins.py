"""The agent's own token logins (`OPTIONS`) in Spark's Java client: its properties, and what it needs of a session.

``aws-msk-iam`` uses Amazon's Java library, whose jar is locked. ``gcp`` uses Google's, whose jars users add. ``azure``
uses Kafka's own OIDC login with a client secret. Java's libraries find credentials as the agent's do: in the
environment, or from the platform. Sources: the documentation of ``aws-msk-iam-auth`` (JAAS options), and Microsoft's of
the client credentials grant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from rebalance_agent.cluster.acls import mechanism_of
from rebalance_agent.cluster.tokens.java_handlers import JAVA_HANDLERS
from rebalance_agent.cluster.tokens.login_options import (
    CONFIG,
    METHOD,
    NO_SCOPE,
    OPTIONS,
    aws_region,
    login_options,
)
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.spark.jaas import OAUTH_MODULE, jaas_text, oidc_properties

__all__ = ["executor_settings", "prepare_driver", "token_method", "token_properties"]

_AWS, _AZURE = "aws-msk-iam", "azure"
_SESSION = "rebalance-agent"
"""The name of the session of an assumed role, as in `aws_msk_iam`."""

_JARS = {
    "aws-msk-iam": 'with spark-submit: --jars "$(rebalance-agent pipeline jars --login aws-msk-iam)"',
    "gcp": "--spark spark.jars.packages=com.google.cloud.hosted.kafka:managed-kafka-auth-login-handler:1.0.6 "
    "--spark spark.jars.excludes=io.confluent:kafka-schema-registry-client,org.apache.kafka:kafka-clients",
}
"""How to add the jar of a Java library."""


def token_method(properties: Mapping[str, str]) -> str:
    """Return the method of a token login; "" for all other logins."""
    method = properties.get(METHOD, "").lower()
    secured = properties.get("security.protocol", "").upper().startswith("SASL_")
    return method if method in OPTIONS and secured and mechanism_of(properties) == "OAUTHBEARER" else ""


def token_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the Java properties of the token login in ``properties``.

    Raises:
        InvalidInputError: an option is wrong or missing, or Java's client cannot use the credentials.
    """
    method, options = token_method(properties), _options(properties)
    if method == _AZURE:
        return _entra(options)
    login = jaas_text(OAUTH_MODULE, _aws(options) if method == _AWS else {})
    return {"sasl.jaas.config": login, "sasl.login.callback.handler.class": JAVA_HANDLERS[method]}


def executor_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return Spark properties with which executors find the region; Amazon's library has no option for it."""
    region = _region(properties)
    return {"spark.executorEnv.AWS_REGION": region} if region else {}


def prepare_driver(session: SparkSession, properties: Mapping[str, str]) -> None:
    """Set the region of the driver's Java, which may run already, and require the jar of the Java library.

    Raises:
        PipelineError: Spark does not have the library; the text names the jar.
    """
    handler = JAVA_HANDLERS.get(token_method(properties))
    java = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no other access to Java
    if handler is None or java is None:
        return
    if region := _region(properties):
        java.java.lang.System.setProperty("aws.region", region)
    if not java.org.apache.spark.util.Utils.classIsLoadable(handler):
        raise PipelineError(f"Spark has no class {handler}, which creates the login's tokens: add its jar, "
                            f"{_JARS[token_method(properties)]}")  # fmt: skip


def _options(properties: Mapping[str, str]) -> dict[str, str]:
    return login_options(token_method(properties), properties.get(CONFIG, ""))


def _region(properties: Mapping[str, str]) -> str:
    return aws_region(_options(properties)) if token_method(properties) == _AWS else ""


def _aws(options: Mapping[str, str]) -> dict[str, str]:
    """Return JAAS options of Amazon's library; a role has priority over a profile, as in `aws_msk_iam`."""
    if role := options.get("role_arn"):
        region = aws_region(options)
        return {"awsRoleArn": role, "awsRoleSessionName": _SESSION} | ({"awsStsRegion": region} if region else {})
    return {"awsProfileName": options["profile"]} if "profile" in options else {}


def _entra(options: Mapping[str, str]) -> dict[str, str]:
    """Return the login of the application in the environment, the first credentials that Azure's library tries."""
    if not (scope := options.get("scope")):
        raise InvalidInputError(f"kafka.{METHOD}", f"azure: {NO_SCOPE}")
    tenant, client, secret = (os.environ.get(f"AZURE_{name}") for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"))
    if not (tenant and client and secret):
        raise InvalidInputError(
            f"kafka.{METHOD}",
            "azure: Spark's Java client logs in only with a client secret: set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
            "AZURE_CLIENT_SECRET, or log in with PLAIN and a connection string",
        )
    authority = os.environ.get("AZURE_AUTHORITY_HOST") or "https://login.microsoftonline.com"
    if "://" not in authority:  # Azure's library accepts a name alone
        authority = f"https://{authority}"
    return oidc_properties(f"{authority.rstrip('/')}/{tenant}/oauth2/v2.0/token", client, secret, scope)
