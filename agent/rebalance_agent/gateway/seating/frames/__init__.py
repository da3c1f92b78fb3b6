"""The frames of one connection, for groups with a rule for seats.

- ``newcomer_admission``: lets newcomers wait until they may join.
- ``connection_groups``: the groups of which the connection's client is a member.
- ``epoch_frames``: ConsumerGroupHeartbeat (KIP-848); the frames of classic groups are in ``seat_frames``.
"""
