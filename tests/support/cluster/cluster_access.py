"""Certificates, tokens and kubeconfigs of an API server and its users, created for each start."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from rebalance_agent.testing.kafka.broker_settings import HOST
from support.kafka.certificates import Authority


class Access:
    """Files in ``folder`` for the API server at ``host:port``, and for ``users``: user name -> group, or empty.

    ``service``: the address at which pods reach it.
    """

    def __init__(self, folder: Path, host: str, port: int, service: str, users: Mapping[str, str]) -> None:
        self._folder = folder
        self.authority = Authority(folder / "certificates")
        names = [f"IP:{address}" for address in sorted({HOST, host, service})]
        names += [f"DNS:{name}" for name in ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")]
        self.server = self.authority.issue("kube-apiserver", ",".join(names))
        self.service_accounts = self.authority.issue("service-accounts")
        """The key of this certificate signs the tokens of service accounts."""

        self.tokens = folder / "tokens.csv"
        given = {user: secrets.token_hex(16) for user in users}
        self.tokens.write_text("".join(f'{given[user]},{user},{user},"{users[user]}"\n' for user in users))
        for user, token in given.items():
            self._write_kubeconfig(user, token, f"https://{host}:{port}")

    def kubeconfig(self, user: str) -> Path:
        """A user's kubeconfig, with the token and the authority's path."""
        return self._folder / f"{user}.kubeconfig"

    def _write_kubeconfig(self, user: str, token: str, url: str) -> None:
        cluster = {"server": url, "certificate-authority": str(self.authority.certificate.chain)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
            "current-context": "tests",
        }
        path = self.kubeconfig(user)
        path.write_text(json.dumps(config))  # JSON is YAML
        path.chmod(0o600)  # helm warns of files that others can read
