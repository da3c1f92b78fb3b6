"""The catalogue of metrics as data, and pure functions from views to samples. ``export`` renders them as text.

Rules, boards, docs and tests are checked against the catalogue.
"""
