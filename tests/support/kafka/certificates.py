"""Certificates for tests, created with the openssl program: an authority and signed certificates."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from rebalance_agent.testing import Tls

__all__ = ["Authority", "Certificate", "locked", "needs_openssl"]

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None and os.environ.get("CI") != "true", reason="openssl makes the certificates"
)

_LONG_AGO = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")


@dataclass(frozen=True)
class Certificate:
    """Paths of the PEM files."""

    chain: Path
    key: Path

    def tls(self, clients: Certificate | None = None) -> Tls:
        """TLS settings of a listener; ``clients``: the authority of client certificates."""
        return Tls(self.chain.read_text(), self.key.read_text(), clients.chain.read_text() if clients else "")


def locked(certificate: Certificate) -> Certificate:
    """The same certificate with an encrypted key."""
    key = certificate.key.with_suffix(".locked")
    command = ["openssl", "pkey", "-in", certificate.key, "-aes128", "-passout", "pass:secret", "-out", key]
    subprocess.run(command, check=True, capture_output=True)
    return Certificate(certificate.chain, key)


class Authority:
    """Signs certificates and stores them in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "index.txt").touch()
        (directory / "serial").write_text("01\n")
        (directory / "ca.cnf").write_text(
            "[ca]\ndefault_ca=own\n[own]\n"
            f"database={directory}/index.txt\nserial={directory}/serial\nnew_certs_dir={directory}\n"
            "default_md=sha256\npolicy=any\ncopy_extensions=copy\nunique_subject=no\n[any]\ncommonName=supplied\n"
        )
        self.certificate = Certificate(directory / "ca.pem", directory / "ca.key")
        request = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        self._openssl(*request, "-subj", "/CN=tests' authority", *self._outputs(self.certificate))

    def issue(self, name: str, names: str = "IP:127.0.0.1,DNS:localhost", *, expired: bool = False) -> Certificate:
        """Issue a certificate of ``CN=name`` for ``names``."""
        made = Certificate(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        request = Certificate(self._directory / f"{name}.csr", made.key)
        self._openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName={names}", *self._outputs(request)),
        )
        self._openssl(
            *("ca", "-batch", "-notext", "-config", self._directory / "ca.cnf", "-cert", self.certificate.chain),
            *("-keyfile", self.certificate.key, "-in", request.chain, "-out", made.chain),
            *(_LONG_AGO if expired else ("-days", "2")),
        )
        return made

    @staticmethod
    def _outputs(certificate: Certificate) -> tuple[str | Path, ...]:
        return ("-out", certificate.chain, "-keyout", certificate.key)

    @staticmethod
    def _openssl(*arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
