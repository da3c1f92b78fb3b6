"""Runs DescribeGroups in a separate process, because librdkafka aborts for some assignments that members write.

- ``isolated_describer``: finds the groups whose answers end the process, and excludes them for a while.
- ``running_process``: the process as its parent sees it; ``describing_process``: the process itself.
- ``answer_lines``: the lines of JSON between the two.
"""
