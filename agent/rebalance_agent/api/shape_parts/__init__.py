"""Parts of the API's answers.

- ``counter_shapes``: a group's totals.
"""
