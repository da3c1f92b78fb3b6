"""The gateway: a proxy that speaks Kafka's protocol between one pod's consumers and the brokers.

It rewrites broker addresses, adds our strategies to JoinGroup and SyncGroup of the groups that its rules name, and
forwards everything else unchanged. It stores no records and is not a client library. It uses only the message classes
of ``kafka`` (kafka-python).

- ``gateway_server``: listeners and connections; ``transport``: frames; ``groups``: the requests of consumer groups.
- ``telemetry``: the metrics that clients push (KIP-714); the gateway answers them instead of the brokers.
- ``seats``: decides which consumers take the seats of others (pure); ``seating`` carries the decisions out.
- ``connection_relay``: joins one client's connection and one broker's; ``connection_interceptor``: changes its frames;
  ``requests_in_flight``: requests without a response, including the gateway's own; ``client_software``: the client's
  library; ``pushing_member``: the member whose client pushes.
- ``group_rules``: which groups are rewritten, with which strategy; ``seat_rules``: which have seats; ``rule_texts``:
  parses both; ``explain_rules``: explains the rules of one group in words.
- ``past``: the rebalances that seats would have spared in a group's recorded past.
- ``connection_readiness``: whether a consumer is ready.
- ``gateway_counters``: its metrics; ``rate_limited_log``: its warnings.
"""
