"""Describes groups, through librdkafka and through our own requests.

DescribeGroups and OffsetFetch run in a separate process, because some answers to these requests end librdkafka's
process.

- ``isolated_describer``: finds the groups whose answers end the process, and excludes them for a while.
- ``running_process``: the parent's side of the process; ``describing_process``: the code that runs in the process.
- ``answer_lines``: the lines of JSON between parent and process.
- ``connection_errors``: keeps the last error of connections, in both processes.

librdkafka has no requests for share and streams groups, and drops epochs and target assignments of consumer groups.

- ``epoch_describer``: lists and describes these groups; ``epoch_answers``: converts the responses to plain values;
  ``equal_answers``: recognises responses that need not be decoded again.
- ``share_offsets``: requests the positions of share groups.
- ``topologies``: requests the topologies of streams groups.
- ``features``: reads the features that the cluster has enabled, which librdkafka does not show either.
- ``broker_client``: sends the requests over connections of kafka-python (``kafka``); ``frame_request``: one of our
  requests.
"""
