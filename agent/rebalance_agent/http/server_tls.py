"""Creates TLS contexts of the agent's listeners, from a certificate, its key, and for mutual TLS a client CA."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.reloaded_files import Reloaded
from rebalance_agent.regular_files import regular_file, same_file

__all__ = ["EXPIRES_SOON_DAYS", "ServerTls", "TlsFiles"]

EXPIRES_SOON_DAYS = 14
"""A warning is logged if a certificate expires within this number of days: issuers renew earlier."""

_DAY_S = 86_400
_EXPIRED, _NOT_YET_VALID = 10, 9
"""X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL."""

_FLIGHTS_MAX = 10
"""Maximum number of rounds of a handshake in memory: TLS 1.3 needs two rounds, TLS 1.2 needs three."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files of one listener.

    ``client_ca_file``: the authority that signs the clients' certificates; empty: clients need no certificate. The
    names of settings in errors begin with ``prefix``.
    """

    cert_file: str
    key_file: str
    client_ca_file: str = ""
    prefix: str = "tls_"

    def __post_init__(self) -> None:
        """Refuse a certificate without its key, and a key without its certificate.

        Raises:
            InvalidInputError: a setting is missing; names this setting.
        """
        for name in ("cert_file", "key_file"):
            if not getattr(self, name):
                raise InvalidInputError(f"{self.prefix}{name}", "is missing: TLS needs a certificate and its key")

    def context(self) -> ssl.SSLContext:
        """Return a server's context, for TLS 1.2 and newer.

        Raises:
            InvalidInputError: naming the setting whose file cannot be read or used.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._load_pair(context)
        if self.client_ca_file:
            self._load_clients(context)
        return context

    def _load_pair(self, context: ssl.SSLContext) -> None:
        with (
            _opened(f"{self.prefix}cert_file", self.cert_file) as cert,
            _opened(f"{self.prefix}key_file", self.key_file) as key,
        ):
            self._load_opened(context, same_file(cert), same_file(key))

    def _load_opened(self, context: ssl.SSLContext, cert: str, key: str) -> None:
        try:
            # For a locked key OpenSSL would ask for the passphrase on the terminal.
            context.load_cert_chain(cert, key, password=lambda: "")
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or error
            if reason == "KEY_VALUES_MISMATCH":
                problem = f"the key in {self.key_file} does not belong to the certificate in {self.cert_file}"
                raise InvalidInputError(f"{self.prefix}key_file", problem) from None
            problem = (
                f"{self.cert_file} and {self.key_file} must contain a certificate and its unencrypted key in PEM form"
            )
            raise InvalidInputError(f"{self.prefix}cert_file", f"{problem} ({reason})") from None

    def _load_clients(self, context: ssl.SSLContext) -> None:
        field = f"{self.prefix}client_ca_file"
        with _opened(field, self.client_ca_file) as opened:
            try:
                context.load_verify_locations(same_file(opened))
            except OSError as error:
                reason = getattr(error, "reason", None) or error.strerror
                problem = f"{self.client_ca_file} contains no PEM certificate ({reason})"
                raise InvalidInputError(field, problem) from None
        context.verify_mode = ssl.CERT_REQUIRED


class ServerTls:
    """The TLS context of a listener, reloaded when one of its files changes. Thread-safe."""

    def __init__(self, files: TlsFiles, clock: Clock) -> None:
        """Load the files at once.

        Raises:
            InvalidInputError: naming the setting whose file cannot be read or used.
        """
        self._files, self._clock = files, clock
        paths = [path for path in (files.cert_file, files.key_file, files.client_ca_file) if path]
        self._context = Reloaded(paths, self._load, clock)

    @property
    def mutual(self) -> bool:
        """Whether clients must present a certificate."""
        return bool(self._files.client_ca_file)

    def context(self) -> ssl.SSLContext:
        """Return the context for the next handshake."""
        return self._context.get()

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return the connection as a server's TLS socket, before its handshake."""
        return self._context.get().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def _load(self) -> ssl.SSLContext:
        context = self._files.context()
        trouble = _trouble(context, self._files.cert_file, self._clock.now_ms() / 1000)
        if trouble:
            _log.warning("the certificate in %s %s", self._files.cert_file, trouble)
        return context


@contextlib.contextmanager
def _opened(field: str, path: str) -> Iterator[BinaryIO]:
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(regular_file(path))
        except OSError as error:
            raise InvalidInputError(field, f"cannot read {path}: {error.strerror}") from None
        yield file


def _trouble(context: ssl.SSLContext, cert_file: str, now_s: float) -> str:
    """Return the problem of a certificate's dates, for a client that trusts it; empty if there is no problem."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN  # so that the certificate itself can be trusted
    with _opened("cert_file", cert_file) as opened:
        client.load_verify_locations(same_file(opened))
    try:
        certificate = _shown_to(client, context)
    except ssl.SSLCertVerificationError as error:
        return {_EXPIRED: "has expired", _NOT_YET_VALID: "is not valid yet"}.get(error.verify_code, "")
    except ssl.SSLError:
        return ""  # clients report any other error
    ends = str(certificate.get("notAfter", ""))
    soon = bool(ends) and ssl.cert_time_to_seconds(ends) - now_s < EXPIRES_SOON_DAYS * _DAY_S
    return f"expires on {ends}" if soon else ""


def _shown_to(client: ssl.SSLContext, server: ssl.SSLContext) -> dict[str, object]:
    """Return the server's certificate from a handshake in memory: ``ssl`` has no other way to read a certificate."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_FLIGHTS_MAX):
        with contextlib.suppress(ssl.SSLWantReadError):
            near.do_handshake()
            break
        with contextlib.suppress(ssl.SSLWantReadError):
            far.do_handshake()
    return cast("dict[str, object]", near.getpeercert() or {})
