"""Supply chain: the Python packages in ``requirements/*.lock``, and their known vulnerabilities.

``make sbom`` and ``make audit``. `locks` reads what is locked, `programs` installs the tools where nothing else is,
`bills` writes bills of materials, `audit` asks for known vulnerabilities and judges the answers.
"""
