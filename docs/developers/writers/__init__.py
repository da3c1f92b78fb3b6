"""Writes the generated parts of ``docs/``: ``python -m docs.developers.writers`` (``make docs``).

- ``metrics_page``: ``docs/metrics.md``, from the catalogue of metrics.
- ``api_page``: ``docs/api.md``, from the routes and answers of the API.
- ``settings_page``: ``docs/reference/settings.md``, from the settings models.
- ``tables``: the tables of permissions in a page that people write.

The package is apart from `rebalance_agent`: nothing of the product imports it.
"""
