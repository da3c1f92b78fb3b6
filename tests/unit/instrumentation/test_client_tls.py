from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.client_tls import client_context
from support.kafka.certificates import Authority, locked, needs_openssl


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/no/such", "cannot read /no/such: No such"),
        (__file__, "expected PEM"),
        ("/dev/null", "it is not a regular file"),
    ],
)
@pytest.mark.parametrize("files", [("ca",), ("ca", "certificate")])
def test_an_unusable_file_is_named_by_its_setting(files, path, problem):
    named = [(name, path if name == files[-1] else None) for name in files]
    with pytest.raises(InvalidInputError, match=rf"^{files[-1]}: .*{problem}"):
        client_context(*named)


def test_a_key_without_its_certificate_is_refused():
    with pytest.raises(InvalidInputError, match=r"^--cert: is missing: --key is its key"):
        client_context(("--ca", None), ("--cert", ""), ("--key", "key.pem"))


@needs_openssl
def test_an_encrypted_key_is_refused_without_a_prompt(tmp_path):
    certificate = locked(Authority(tmp_path).issue("client"))
    with pytest.raises(InvalidInputError, match=r"^--cert: "):
        client_context(("--ca", None), ("--cert", str(certificate.chain)), ("--key", str(certificate.key)))


@needs_openssl
def test_valid_files_are_used(tmp_path):
    authority = Authority(tmp_path)
    certificate = authority.issue("client")
    chain = str(authority.certificate.chain)
    context = client_context(("--ca", chain), ("--cert", str(certificate.chain)), ("--key", str(certificate.key)))
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1
