"""Logins with tokens from cloud providers' own libraries (SASL/OAUTHBEARER, KIP-255).

- ``token_login``: the values of ``sasl.oauthbearer.method`` that librdkafka does not have, and librdkafka's callback
  for tokens.
- ``token_cache``: one token for all clients of a process, replaced before it expires.
- ``aws_msk_iam``, ``azure``, ``gcp``: tokens from each platform's library, which is an extra of this package.
- ``login_options``: the options of each login.
- ``java_handlers``: the same logins in Java.

The package uses ``aws_msk_iam_sasl_signer`` with ``botocore``, ``azure`` (its package ``identity``), and ``google``
(``auth``).
"""
