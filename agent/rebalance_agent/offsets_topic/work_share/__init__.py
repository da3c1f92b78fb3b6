"""Limits the share of the observer's work that one group may take.

- ``record_claims``: limits what one record may claim. ``work_budget``: limits the work that the records of a group may
  cause.
- ``set_aside``: keeps the records that wait. ``fair_share``: emits them when their group may cause work again.
- ``led_share``: the same limits for generations that leaders report. ``led_record``: such a report as a record.
  ``led_backlog``: selects the reports from before the start that still need an event.
"""
