"""Checks published events against the records of ``__consumer_offsets``, independently of the tracker.

The audit decodes the records (`groupprotocol`), derives generations, aborted generations and deletions, and compares
each with its event. It also compares counters and hours with sums of events, and table rows with their events. It
shares no code with the tracker (`tracking`) or with `model.generation_diff`, so that an error there is not repeated
here; an import contract checks this.

The audit is pure and works in one pass. It keeps under a kilobyte per event, and the last two generations per group.
`runtime.watch.audit_source` and `cli.inputs` read Kafka and files; `cli.commands.verify` prints the report.

- ``ledger`` is the entry point: it takes all events, then all records, and returns the report (``audit_report``).
- ``expected``: derives the facts that follow from the records. ``audited_group``: describes a fact's group at the time
  of the fact.
- ``published_event``, ``published_events``: reduce the events to the values that are compared.
- ``led_generations``: compares what gateways and leaders reported, for clusters that hide their offsets topic.
- ``matching``: compares a group's facts with its events; ``phase_check``: compares the times of a generation's phases.
- ``lifetime_counters``: checks the counters of a process; ``table_rows``, ``group_hour_check``: check the rows of the
  pipeline's tables.
"""
