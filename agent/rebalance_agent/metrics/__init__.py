"""The catalogue of metrics as data, and pure functions that compute samples from views. ``export`` renders samples.

- ``metric``: defines a row of the catalogue; ``catalogue``: collects all rows from the ``*_rows`` modules.
- ``group_rows``: defines the metrics of groups, each with the function that reads its value (``group_metric``,
  ``group_values``); ``group_samples``: computes all samples of one group.
- ``short_names``: shortens names to the byte limit of label values.
- ``lag_rows``: defines the metrics of consumer lag, which changes with each measurement, not with the group's view.
- ``member_client_rows``: defines metrics that members' clients measure themselves, and those of share groups.
- ``member_rows``, ``gateway_rows``, ``agent_rows``, ``phase_rows``, ``baseline_rows``: define the
  other metrics.

Tests check the rules, boards and docs against the catalogue.
"""
