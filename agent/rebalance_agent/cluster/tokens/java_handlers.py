"""The same logins in Java: the callback handlers of the platforms' own libraries."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["JAVA_HANDLERS"]

JAVA_HANDLERS: Mapping[str, str] = {
    "aws-msk-iam": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    "gcp": "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler",
}
"""``sasl.oauthbearer.method`` -> Java's ``sasl.login.callback.handler.class``, which creates the tokens."""
