"""Supply chain: what all that is installed is made of, and what is known against it.

``make sbom`` and ``make audit``. `locks` reads what is locked, `programs` installs the tools where nothing else is,
`bills` writes bills of materials, `audit` asks for known vulnerabilities and judges the answers.
"""
