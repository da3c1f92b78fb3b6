"""Writes the generated parts of ``docs/``: ``python -m docs.developers.writers`` (``make docs``).

- ``metrics_page``: ``docs/metrics.md``, from the catalogue of metrics.
- ``api_page``: ``docs/api.md``, from the routes and answers of the API.
- ``tables``: the tables of settings and rights in pages that people write, from the settings models and the rights.

The package is apart from `rebalance_agent`: nothing of the product imports it.
"""
