"""Handles the frames of one connection, for groups with a rule for seats.

- ``newcomer_admission``: makes newcomers wait until they may join.
- ``connection_groups``: records the groups of which the connection's client is a member.
- ``epoch_frames``: handles ConsumerGroupHeartbeat (KIP-848); ``seat_frames`` handles the frames of classic groups.
"""
