"""Supply chain: what the Python packages are that ``requirements/*.lock`` install, and what is known against them.

``make sbom`` and ``make audit``. `locks` reads what is locked, `programs` installs the tools where nothing else is,
`bills` writes bills of materials, `audit` asks for known vulnerabilities and judges the answers.
"""
