"""The catalogue of metrics as data, and pure functions from views to samples. ``export`` renders them as text.

- ``metric``: one row of the catalogue; ``catalogue``: all rows, from the ``*_rows`` modules.
- ``group_rows``: the metrics of groups, each with the function that reads its value (``group_metric``,
  ``group_values``); ``group_samples``: all samples of one group.
- ``short_names``: shortens names to the byte limit of label values.
- ``lag_rows``: consumer lag, which changes with each measurement and not with the group's view.
- ``member_client_rows``: metrics that members' clients measure themselves.
- ``member_rows``, ``gateway_rows``, ``agent_rows``, ``phase_rows``, ``baseline_rows``: what each process counts itself.

Rules, boards, docs and tests are checked against the catalogue.
"""
