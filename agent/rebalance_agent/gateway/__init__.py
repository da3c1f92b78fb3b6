"""The gateway: a proxy that speaks Kafka's protocol between one pod's consumers and the brokers.

It rewrites broker addresses, puts our strategies into JoinGroup and SyncGroup of the groups that its rules name, and
forwards everything else unchanged. It stores no records and is not a client library.
Of ``kafka`` (kafka-python) it uses the message classes alone.

- ``gateway_server``: listeners and connections; ``transport``: frames; ``groups``: the requests of consumer groups.
- ``telemetry``: what clients measure themselves and push (KIP-714), answered in the brokers' place.
- ``seats``: which consumers take the seats of others; pure. ``seating`` carries that out.
- ``connection_relay``: joins one client's connection and one broker's; ``connection_interceptor``: changes its frames;
  ``requests_in_flight``: those without an answer, and the gateway's own; ``client_software``: the client's library.
- ``group_rules``: which groups are rewritten, with which strategy; ``seat_rules``: which have seats; ``rule_texts``:
  what both have in common; ``explain_rules``: that in words, for one group.
- ``past``: what seats would have spared in a group's recorded past.
- ``connection_readiness``: whether a consumer is ready.
- ``gateway_counters``: its metrics; ``rate_limited_log``: its warnings.
"""
