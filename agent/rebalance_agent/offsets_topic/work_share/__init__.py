"""Limits the share of the observer's work that one group may take.

- ``record_claims``: limits what one record may claim. ``work_budget``: limits the work that the records of a group may
  cause.
- ``set_aside``: the records that wait. ``fair_share``: puts them into the inbox when their group may cause work again.
"""
