"""Supply chain: the Python packages in ``requirements/*.lock``, and their known vulnerabilities.

``make sbom`` and ``make audit``. `locks` reads locked packages, `programs` installs the tools separately, `bills`
writes bills of materials, `audit` requests known vulnerabilities and evaluates the responses.
"""
