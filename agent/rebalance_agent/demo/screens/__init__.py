"""Shows the demo's progress and closing tables; it reads nothing itself.

- ``screen``: prints it; on a terminal with a live view, rendered by ``rich``.
- ``closing_tables``: the rows at the end; ``model_rows``: the costs that the coordinator's model predicts;
  ``fitted_table``: lays out both.
"""
