"""An independent check: the coordinators' own log against the published events.

It reads records (`groupprotocol`), works out by itself which generations, aborted generations and deletions there were,
and compares each with its event, counters and hours with sums of events, and table rows with their events. It shares no
code with the tracker (`tracking`) or with `model.generation_diff`; an import contract checks this, so that a mistake
made there is not repeated here.

Pure, and in one pass: an event takes less than a kilobyte, a group its last two generations. Not here: reading Kafka or
files (`runtime.watch.audit_source`), and printing (`cli.commands.verify`).
"""
