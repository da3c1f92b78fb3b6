"""Values of heartbeats in groups whose coordinator assigns.

- ``heartbeat_values``: a request and a response of consumer groups, and of streams groups, with all fields.
"""
