"""An independent check of published events against the records of ``__consumer_offsets``.

It decodes the records (`groupprotocol`), derives the generations, aborted generations and deletions by itself, and
compares each with its event. It also compares counters and hours with sums of events, and table rows with their events.
It shares no code with the tracker (`tracking`) or with `model.generation_diff`, so that an error there is not repeated
here; an import contract checks this.

The audit is pure and works in one pass. It keeps under a kilobyte per event, and the last two generations per group.
`runtime.watch.audit_source` and `cli.inputs` read Kafka and files, `cli.commands.verify` prints.

- ``ledger`` is the entry point: all events, then all records, then the report (``audit_report``).
- ``expected``: derives the facts that follow from the records. ``audited_group``: describes the group at the time of a
  fact.
- ``published_event``, ``published_events``: reduce the events to the values that are compared.
- ``matching`` compares the facts of a group with its events, ``phase_check`` their times.
- ``lifetime_counters``: checks the counters of a process; ``table_rows``, ``group_hour_check``: check the rows of the
  pipeline's tables.
"""
