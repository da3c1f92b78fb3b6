"""Shows the demo's progress and closing tables, from values that callers pass.

- ``screen``: prints the progress; on a terminal, ``rich`` renders a live view.
- ``closing_tables``: computes the rows of the closing tables; ``model_rows``: computes rows with the costs that the
  coordinator's model predicts; ``fitted_table``: lays out the rows.
"""
