"""Limits the share of the observer's work that one group may take.

- ``record_claims``: limits what one record may claim. ``work_budget``: limits the work that the records of a group may
  cause.
- ``set_aside``: keeps the records that wait. ``turns``: the order of groups that wait for time. ``fair_share``: emits
  records when their group may cause work.
- ``led_share``: the same limits for generations that leaders report. ``led_record``: such a report as a record.
  ``led_backlog``: selects the reports from before the start that still need an event.
"""
