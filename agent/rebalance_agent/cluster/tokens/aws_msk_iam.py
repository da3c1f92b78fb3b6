"""Tokens for Amazon MSK's IAM access control, which Amazon's signer creates from the usual AWS credentials.

A token is a request to ``kafka.REGION.amazonaws.com`` signed with Signature Version 4, valid for 15 minutes. Source:
Amazon MSK's documentation of IAM access control, and the package ``aws-msk-iam-sasl-signer-python``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.cluster.tokens.login_options import aws_region
from rebalance_agent.cluster.tokens.token_cache import Token, TokenError
from rebalance_agent.extras import install_text

__all__ = ["msk_token"]

_SESSION = "rebalance-agent"


def msk_token(options: Mapping[str, str]) -> Token:
    """Sign a token. Options: ``region`` (default: ``AWS_REGION``), ``role_arn`` to assume, or ``profile``.

    Raises:
        TokenError: the package is missing, there is no region, or AWS has no credentials for this process.
    """
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415 - of an extra
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - the same
    except ImportError:
        raise TokenError(f"the package is missing; run {install_text('aws')}") from None
    region = aws_region(options)
    if not region:
        raise TokenError("the region is unknown: set AWS_REGION, or sasl.oauthbearer.config to region=eu-central-1")
    try:
        if role := options.get("role_arn"):
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_role_arn(region, role, _SESSION)
        elif profile := options.get("profile"):
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_profile(region, profile)
        else:
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    except (
        AttributeError,
        ValueError,
    ):  # the signer reads the credentials' fields without checking whether there are any
        raise TokenError("AWS has no credentials for this process: give its pod a role, or set AWS_PROFILE") from None
    except (BotoCoreError, ClientError) as error:
        raise TokenError(" ".join(str(error).split())) from None
    return Token(text, int(expires_ms), "aws-msk-iam")
