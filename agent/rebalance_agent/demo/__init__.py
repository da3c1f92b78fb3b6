"""Runs the demo: the agent observes consumer groups of real processes on an embedded Kafka.

The demo uses the product as users do: observer, sidecar and gateway processes with their flags, ``/metrics`` over HTTP,
and the topic ``rebalance-events``. Its members are consumers of ``kafka`` and ``confluent_kafka``. Only the command
line imports this package.

- ``scenario``: defines topics, groups and steps as data; ``scenario_types``: defines the types of this data.
- ``run_demo``: runs the whole demo; ``run_on_broker``: does one run on a broker; ``demo_processes``: starts processes
  and executes actions; ``step_schedule``: decides when each step begins and ends.
- ``processes``: contains the programs of child processes. ``observed``: reads metrics, events and the coordinator, and
  compares them.
- ``screens``: shows progress and the closing tables.
- ``errors``: defines `DemoError`.
"""
