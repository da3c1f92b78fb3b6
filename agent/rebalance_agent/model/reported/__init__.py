"""Reports of sidecars and gateways about members.

- ``workload``: where a member runs.
- ``member_software``: the client library of a member.
- ``client_metrics``: what a member's client measured itself.
- ``deliveries_event``: the records that a gateway has seen delivered to a share group's consumers.
- ``led_generation``: a generation, from the frames of its leader.
- ``seat_event``: what a gateway did with seats, and which consumer has had a member since then.
"""
