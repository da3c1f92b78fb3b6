"""Tokens of Amazon MSK: signed URLs, verified with code that reproduces AWS's published signatures."""

from __future__ import annotations

import base64
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from rebalance_agent.cluster.tokens.aws_msk_iam import msk_token
from rebalance_agent.cluster.tokens.token_cache import TokenError
from support.aws.msk_iam import KEY_ID, REGION, SECRET, aws_environment
from support.aws.sigv4 import signature, signing_key

S3 = (
    "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
    "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
)
"""The signed URL in AWS's documentation of S3's query authentication."""

S3_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    aws_environment(monkeypatch)


def url_of(token):
    return base64.urlsafe_b64decode(token.text + "=" * (-len(token.text) % 4)).decode()


def test_the_verifying_code_has_the_published_signatures():
    key = signing_key(SECRET, "20150830", "us-east-1", "iam")
    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
    expected = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    assert signature(S3, S3_SECRET, "UNSIGNED-PAYLOAD") == expected


@pytest.mark.parametrize("session", [None, "a/session+token=="])
def test_a_token_is_a_signed_request_to_connect(monkeypatch, session):
    if session:
        monkeypatch.setenv("AWS_SESSION_TOKEN", session)
    token = msk_token({"region": REGION})
    url = urlsplit(url_of(token))
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.hostname == f"kafka.{REGION}.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].split("/")[0] == KEY_ID
    assert query.get("X-Amz-Security-Token") == session
    # The signer adds its name after it signed.
    signed = url_of(token).partition("&User-Agent=")[0]
    assert query["X-Amz-Signature"] == signature(signed, SECRET)


def test_the_region_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    assert urlsplit(url_of(msk_token({}))).hostname == "kafka.us-west-2.amazonaws.com"


def test_without_a_region_the_error_says_how_to_set_it():
    with pytest.raises(TokenError, match=r"set AWS_REGION, or sasl\.oauthbearer\.config to region="):
        msk_token({})


def test_without_credentials_the_error_says_what_to_give(monkeypatch):
    aws_environment(monkeypatch, key_id=None, secret=None)
    with pytest.raises(TokenError, match="AWS has no credentials for this process"):
        msk_token({"region": REGION})


def test_an_unknown_profile_is_an_error():
    with pytest.raises(TokenError, match="nosuch"):
        msk_token({"region": REGION, "profile": "nosuch"})


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(TokenError, match=r"pip install '\.\[aws\]'"):
        msk_token({"region": REGION})
