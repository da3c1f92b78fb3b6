"""Runs DescribeGroups and OffsetFetch in a separate process, because some of their answers end librdkafka's process.

- ``isolated_describer``: finds the groups whose answers end the process, and excludes them for a while.
- ``running_process``: the process as its parent sees it; ``describing_process``: the process itself.
- ``answer_lines``: the lines of JSON between the two.
"""
