"""Evidence from offset commits (as the coordinator recorded them) for the times when members worked.

- ``commit_times``: when partitions were committed; ``last_commits``: the last commit of each partition.
- ``read_times``: when the last records that departed members read were appended.
- ``awaited_commits``: whether to wait for first commits; ``slow_answers``: how late commits may have been recorded,
  from the durations of other requests.
"""
