"""Tokens of Microsoft Entra: the scope and the identity come from the login's options."""

from __future__ import annotations

import sys

import azure.identity
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from rebalance_agent.cluster.tokens.azure import entra_token
from rebalance_agent.cluster.tokens.token_cache import Token, TokenError

SCOPE = "https://example.servicebus.windows.net/.default"


@pytest.fixture
def identity(monkeypatch):
    """The arguments and scopes that Azure's library gets, and what it answers."""

    class Identity:
        asked = None
        answer = AccessToken("jwt", 1_900_000_000)

        def __init__(self, **own):
            self.own = own

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def get_token(self, scope):
            Identity.asked.append((self.own, scope))
            if isinstance(Identity.answer, Exception):
                raise Identity.answer
            return Identity.answer

    Identity.asked = []
    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Identity)
    return Identity


def test_a_token_is_for_the_scope_and_the_identity(identity):
    assert entra_token({"scope": SCOPE}) == Token("jwt", 1_900_000_000_000, "azure")
    entra_token({"scope": SCOPE, "client_id": "one"})
    assert identity.asked == [({}, SCOPE), ({"managed_identity_client_id": "one"}, SCOPE)]


def test_without_an_identity_the_error_is_the_first_line_of_azures(identity):
    identity.answer = ClientAuthenticationError("no credential\nin the chain\n")
    with pytest.raises(TokenError, match=r"^no credential$"):
        entra_token({"scope": SCOPE})


def test_the_scope_is_required():
    with pytest.raises(TokenError, match=r"scope=https://NAMESPACE\.servicebus\.windows\.net/\.default"):
        entra_token({})


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(TokenError, match=r"pip install '\.\[azure\]'"):
        entra_token({"scope": SCOPE})
