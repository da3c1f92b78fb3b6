"""Shows the demo's progress and closing tables, from values that callers pass.

- ``screen``: prints the progress; on a terminal as a live view, which ``rich`` renders.
- ``closing_tables``: computes the rows at the end; ``model_rows``: computes rows with the costs that the coordinator's
  model predicts; ``fitted_table``: lays out these rows.
"""
