"""Histories of fleets that never lived, as realistic as models make them: to try the pipeline, and to measure it.

Pure Python, without Spark. How it fits together:

- ``load``: how busy an hour of the week is; ``fleet``: what a group is like, drawn from the seed and its number.
- ``calendar``: what happens to a group on a day, as steps of the coordinator's model; its ``roster`` of members.
- ``classic`` plays the steps through the model of the classic coordinator, ``epochs`` (with ``targets``) through one of
  the coordinators that assign themselves; both give what an observer would be told.
- ``history`` tells it to the real tracker, and gives the events that the observer would publish.
- ``files`` writes the fleet, in processes; the same order gives the same bytes, however many there are.
"""

from __future__ import annotations
