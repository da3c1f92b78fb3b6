"""Generates synthetic event histories of whole fleets of groups, to try out and measure the pipeline.

The package is pure Python and needs neither Spark nor a broker. Within the agent, only the command
``pipeline synthesize`` imports it; a contract in ``pyproject.toml`` checks this.

- ``fleet_plan``: chooses the random properties of a group; ``hourly_load``: defines the load by hour of the week.
- ``group_calendar``: plans the steps of a group on each day; ``calendar_members``: makes its members; ``maintenance``:
  defines drains of nodes and restarts of brokers.
- ``classic_play``: plays the steps through the simulated classic coordinator; ``epoch_play``: plays the steps through a
  model of the coordinators that assign partitions themselves. Both return observations.
- ``target_assignments``: models the assignors of these coordinators.
- ``reported_events``: makes the events that the members' sidecars report.
- ``synthetic_history``: passes the observations to the real tracker, and returns the events that an observer publishes.
- ``event_files``: writes the events of a fleet, in several processes, with the same bytes for the same plan.
"""

from __future__ import annotations
