"""Generates synthetic event histories of whole fleets of groups, with which the pipeline is tried out and measured.

Pure Python, without Spark and without a broker. Only the command ``pipeline synthesize`` imports it; a contract in
``pyproject.toml`` checks this.

- ``fleet_plan``: the properties of a group, random by seed and group number; ``hourly_load``: load by hour of the week.
- ``group_calendar``: what happens to a group on each day, as steps of a simulation; ``calendar_members``: its members;
  ``maintenance``: drains of nodes and restarts of brokers.
- ``classic_play``: plays the steps through the simulated classic coordinator; ``epoch_play`` (with
  ``target_assignments``) through a model of the coordinators that assign partitions themselves. Both return
  observations.
- ``reported_events``: events that the members' sidecars report.
- ``synthetic_history``: passes the observations to the real tracker, and returns the events that an observer publishes.
- ``event_files``: writes the events of a fleet, in several processes, with the same bytes for the same plan.
"""

from __future__ import annotations
