"""Translates the properties of connection and login in Java's ``client.properties`` to librdkafka's names.

The names are from Kafka's documentation of client configurations and librdkafka's ``CONFIGURATION.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rebalance_agent.cluster.tokens.java_handlers import JAVA_HANDLERS
from rebalance_agent.cluster.tokens.login_options import CONFIG, METHOD
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.kafka_config import read_text

__all__ = ["client_file_properties", "librdkafka_properties", "parsed_properties"]

FIELD = "kafka_config"
FILE_BYTES_MAX = 1 << 20
"""Maximum size of a file in bytes: certificates in a file take a few kilobytes."""

_SAME = frozenset(
    {
        "bootstrap.servers",
        "client.dns.lookup",
        "client.id",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.key.password",
    }
)
"""Properties of connections that have the same name and the same values in both clients."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_SEPARATOR = re.compile(r"(?P<name>(?:[^\\=:\s]|\\.)*)\s*(?:[=:]\s*|\s+|$)(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_WHITE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LOGIN = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*?);?\s*", re.DOTALL
)
_METHODS = {handler.rpartition(".")[2]: method for method, handler in JAVA_HANDLERS.items()}
"""Name of a class in ``sasl.login.callback.handler.class``, without its package -> method for the same login."""

_MSK_OPTIONS = {"awsProfileName": "profile", "awsRoleArn": "role_arn"}
_OPTION = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;\"']+))")


def client_file_properties(path: str, given: Mapping[str, object]) -> dict[str, str]:
    """Return the file's properties with librdkafka's names, without those that are also ``given`` elsewhere.

    Raises:
        InvalidInputError: the file cannot be read, or librdkafka cannot use a property. The text contains no secret.
    """
    translated = librdkafka_properties(parsed_properties(read_text(FIELD, path, FILE_BYTES_MAX)), frozenset(given))
    return {name: value for name, value in translated.items() if name not in given and f"{name}.file" not in given}


def parsed_properties(text: str) -> dict[str, str]:
    """Parse Java's properties format; comments, escapes and continued lines are handled as in `Properties.load`."""
    properties = {}
    for line in _logical_lines(text):
        if matched := _SEPARATOR.fullmatch(line):
            properties[_unescaped(matched["name"])] = _unescaped(matched["value"])
    return properties


def librdkafka_properties(java: Mapping[str, str], given: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return connection and login with librdkafka's names, without properties of consumers, producers, serializers.

    ``given``: librdkafka's names that are set elsewhere. A property that cannot be translated to such a name is no
    error.

    Raises:
        InvalidInputError: librdkafka has no property for a keystore, a login module or a variable.
    """
    if variable := next((name for name, value in java.items() if value.startswith("${")), None):
        raise InvalidInputError(
            FIELD, f"{variable}: the agent does not support config providers; write the value itself"
        )
    translated = {name: value for name, value in java.items() if name in _SAME and value}
    if "request.timeout.ms" in java:
        translated["socket.timeout.ms"] = java["request.timeout.ms"]
    if "ssl.endpoint.identification.algorithm" in java:
        translated["ssl.endpoint.identification.algorithm"] = java["ssl.endpoint.identification.algorithm"] or "none"
    return translated | dict(_trusted(java, given)) | dict(_own_certificate(java)) | dict(_login(java))


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments and leading blanks; a line that ends with an odd number of backslashes continues."""
    begun = ""
    for line in _LINE_END.split(text):
        stripped = line.lstrip(" \t\f")
        if not begun and (not stripped or stripped[0] in "#!"):
            continue
        begun += stripped
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield begun
        begun = ""
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _WHITE.get(match[2], match[2]), text)


def _trusted(java: Mapping[str, str], given: frozenset[str]) -> Iterator[tuple[str, str]]:
    if java.get("ssl.truststore.certificates"):
        yield "ssl.ca.pem", java["ssl.truststore.certificates"]
    elif store := java.get("ssl.truststore.location"):
        if java.get("ssl.truststore.type", "JKS").upper() == "PEM":
            yield "ssl.ca.location", store
        elif not given & {"ssl.ca.location", "ssl.ca.pem", "ssl.ca.pem.file"}:
            text = (
                "librdkafka reads CA certificates only in PEM form: export them with `keytool -list -rfc -keystore "
                f"{store}`"
            )
            raise InvalidInputError(FIELD, f"ssl.truststore.location: {text}, and add --kafka ssl.ca.location=FILE")


def _own_certificate(java: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    kind = java.get("ssl.keystore.type", "JKS").upper()
    store = java.get("ssl.keystore.location")
    if java.get("ssl.keystore.key"):
        yield "ssl.key.pem", java["ssl.keystore.key"]
        yield "ssl.certificate.pem", java.get("ssl.keystore.certificate.chain", "")
    elif store and kind == "PEM":
        yield "ssl.key.location", store
        yield "ssl.certificate.location", store
    elif store and kind == "PKCS12":
        yield "ssl.keystore.location", store
        yield "ssl.keystore.password", java.get("ssl.keystore.password", "")
    elif store:
        command = f"keytool -importkeystore -srckeystore {store} -destkeystore client.p12 -deststoretype PKCS12"
        raise InvalidInputError(FIELD, f"ssl.keystore.location: librdkafka reads PKCS12 and PEM; convert it: {command}")


def _login(java: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the properties of a SASL login, from the module in ``sasl.jaas.config``."""
    text = java.get("sasl.jaas.config")
    if not text:
        return
    matched = _LOGIN.fullmatch(text)
    if matched is None:
        raise InvalidInputError(FIELD, 'sasl.jaas.config must look like: MODULE required username="a" password="b";')
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted or single or plain)
        for name, quoted, single, plain in _OPTION.findall(matched["options"])
    }
    module = matched["module"].rpartition(".")[2]
    if module in ("PlainLoginModule", "ScramLoginModule"):
        yield "sasl.username", options.get("username", "")
        yield "sasl.password", options.get("password", "")
    elif module == "IAMLoginModule":
        yield "sasl.mechanism", "OAUTHBEARER"
        yield from _tokens("aws-msk-iam", options)
    elif (handler := java.get("sasl.login.callback.handler.class", "").rpartition(".")[2]) in _METHODS:
        yield from _tokens(_METHODS[handler], options)
    elif module == "OAuthBearerLoginModule" and "clientId" in options:
        yield "sasl.oauthbearer.method", "oidc"
        yield "sasl.oauthbearer.client.id", options["clientId"]
        yield "sasl.oauthbearer.client.secret", options.get("clientSecret", "")
        if "scope" in options:
            yield "sasl.oauthbearer.scope", options["scope"]
    else:
        supported = "PlainLoginModule, ScramLoginModule, IAMLoginModule, and OAuthBearerLoginModule with clientId"
        raise InvalidInputError(FIELD, f"sasl.jaas.config: {module} is not supported; supported modules: {supported}")


def _tokens(method: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield METHOD, method
    if config := ",".join(f"{name}={options[java]}" for java, name in _MSK_OPTIONS.items() if java in options):
        yield CONFIG, config
