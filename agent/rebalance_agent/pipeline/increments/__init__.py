"""Recomputes only the days of a group that new, late or revised events change.

- ``changed_events``: reads which rows of `events` changed since the last run.
- ``reach``: finds the days of groups whose rows depend on these events.
- ``group_days``: replaces the rows of these days.
- ``processed``: stores the version of `events` from which the tables were last computed.
- ``increment``: runs all of these steps.
"""
