"""``helm test``: requests the observer's readiness through its Service, and prints the observer's own metrics.

Arguments: the address; the file with its token, if it requires one; with HTTPS the file with its certificate. Exits
with 1 and the reason if the observer is not ready.
"""
# ruff: noqa: INP001, T201 - a standalone program that prints its result

from __future__ import annotations

import ssl
import sys
import urllib.error
import urllib.request
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from urllib.response import addinfourl

SECONDS = 10

OWN = (b"rebalance_agent_build_info", b"rebalance_agent_configured")
"""Prefixes of the printed metrics. All metrics of thousands of groups would exceed this pod's memory."""


class Observer:
    """A client of the observer that uses no proxy of the environment."""

    def __init__(self, url: str, token_file: str, certificate: str) -> None:
        """``token_file`` and ``certificate`` are paths; empty: no token, or plain HTTP."""
        token = Path(token_file).read_text(encoding="utf-8").strip() if token_file else ""
        self._url, self._headers = url, {"Authorization": f"Bearer {token}"} if token else {}
        secured = [urllib.request.HTTPSHandler(context=trusting(certificate))] if certificate else []
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), *secured)

    def ask(self, path: str) -> closing[addinfourl]:
        """Return the response, with any status."""
        request = urllib.request.Request(self._url + path, headers=self._headers)  # noqa: S310 - the address is an argument
        try:
            return closing(self._opener.open(request, timeout=SECONDS))
        except urllib.error.HTTPError as error:
            return closing(error)


def trusting(certificate: str) -> ssl.SSLContext:
    """Return a context that trusts only this certificate; scrapers check that it is for the Service's name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(certificate)
    return context


def main(url: str, token_file: str = "", certificate: str = "") -> str:
    """Return the reason why the observer is not ready; empty if it is."""
    observer = Observer(url, token_file, certificate)
    with observer.ask("/readyz") as answer:
        print(f"/readyz: {answer.status}\n{answer.read().decode()}")
        if answer.status != HTTPStatus.OK:
            return "the observer is not ready: the response above has the reason for each part"
    with observer.ask("/metrics") as answer:
        if answer.status != HTTPStatus.OK:
            return f"/metrics answers {answer.status}: {answer.read().decode()}"
        own = [line.decode().strip() for line in answer if line.startswith(OWN)]
    print(*own, sep="\n")
    if any(line.startswith("rebalance_agent_configured") and line.endswith(" 0") for line in own):
        print("it is idle: kafka.bootstrapServers is empty")
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or 0)
