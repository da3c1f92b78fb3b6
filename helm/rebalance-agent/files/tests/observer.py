"""What ``helm test`` asks the observer, through its Service: whether it is ready, and what it says of itself.

Takes an address and, if it wants one, the file with its token. Exit code 1 with the reason when it is not well.
"""
# ruff: noqa: INP001, S310, T201 - a program by itself, which asks whom it is told to ask

from __future__ import annotations

import re
import ssl
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

SECONDS = 10


def asked(address: str, token: str) -> tuple[int, str]:
    """Status and text of the answer."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS, context=trusting()) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def trusting() -> ssl.SSLContext:
    """Takes any certificate: whether it is for the Service's name is asked by who scrapes."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def main(url: str, token_file: str = "") -> str:
    """Why it is not well; empty: it is."""
    token = Path(token_file).read_text(encoding="utf-8").strip() if token_file else ""
    status, reasons = asked(f"{url}/readyz", token)
    print(f"/readyz: {status}\n{reasons}")
    if status != HTTPStatus.OK:
        return "the observer is not ready: above it says of each part why"
    status, metrics = asked(f"{url}/metrics", token)
    if status != HTTPStatus.OK:
        return f"/metrics answers {status}: {metrics}"
    print(*(line for line in metrics.splitlines() if line.startswith("rebalance_agent_build_info")), sep="\n")
    if re.search(r"^rebalance_agent_configured(\{.*\})? 0", metrics, re.MULTILINE):
        print("it idles: kafka.bootstrapServers is empty")
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or 0)
