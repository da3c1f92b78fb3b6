"""Computes Signature Version 4 of a signed URL, from AWS's description, for tests of tokens."""

from __future__ import annotations

import hashlib
import hmac
from functools import reduce
from urllib.parse import parse_qsl, quote, urlsplit

EMPTY = hashlib.sha256(b"").hexdigest()
"""Hash of a request without a body."""


def signing_key(secret, day, region, service):
    """The key that signs requests of one day to a service."""
    return reduce(_hmac, (day, region, service, "aws4_request"), b"AWS4" + secret.encode())


def signature(url, secret, payload=EMPTY):
    """The signature of a URL (without its ``X-Amz-Signature``), whose only signed header is the host."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query.pop("X-Amz-Signature", None)
    pairs = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(query.items()))
    request = "\n".join(("GET", parts.path, pairs, f"host:{parts.hostname}", "", "host", payload))
    day, region, service, end = query["X-Amz-Credential"].split("/")[1:]
    scope = f"{day}/{region}/{service}/{end}"
    hashed = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", query["X-Amz-Date"], scope, hashed))
    return _hmac(signing_key(secret, day, region, service), text).hex()


def _hmac(key, text):
    return hmac.digest(key, text.encode(), "sha256")
