"""The gateway: a proxy that speaks Kafka's protocol between one pod's consumers and the brokers.

It rewrites broker addresses, and adds our strategies to JoinGroup and SyncGroup for the groups that its rules name.
It forwards everything else unchanged. It stores no records and is not a client library. From ``kafka`` (kafka-python),
it uses only the message classes.

- ``gateway_server``: accepts connections; ``transport``: reads and writes frames; ``groups``: handles the frames of
  consumer groups.
- ``telemetry``: the metrics that clients push (KIP-714); the gateway answers them instead of the brokers.
- ``seats``: decides which consumers take the seats of others (pure); ``seating`` carries out these decisions.
- ``connection_relay``: joins a client's connection to a broker's; ``connection_interceptor``: changes their frames;
  ``requests_in_flight``: requests without a response, including the gateway's own; ``client_software``: reads the
  name of the client's library; ``pushing_member``: finds the member whose client pushed metrics.
- ``group_rules``: which groups are rewritten, with which strategy; ``seat_rules``: which groups have seats;
  ``rule_texts``: parses both kinds of rules; ``explain_rules``: explains in words the rules of one group.
- ``past``: finds the rebalances that seats would have spared in a group's recorded past.
- ``connection_readiness``: tracks whether a consumer is ready.
- ``gateway_counters``: the gateway's metrics; ``rate_limited_log``: the gateway's warnings.
"""
