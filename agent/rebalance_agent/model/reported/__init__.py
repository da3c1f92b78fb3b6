"""Reports of sidecars and gateways about members.

- ``workload``: where a member runs.
- ``led_generation``: a generation, by the frames of its leader.
- ``seat_event``: what a gateway did about seats, and which consumer a member is served for since then.
"""
