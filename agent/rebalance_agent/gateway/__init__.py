"""The gateway: a proxy for Kafka's protocol between one pod's consumers and the brokers.

The gateway rewrites broker addresses, and adds our strategies to JoinGroup and SyncGroup for groups that match its
rules. It forwards everything else unchanged. It stores no records and is not a client library. It uses only the message
classes of ``kafka`` (kafka-python).

- ``gateway_server``: accepts connections; ``transport``: reads and writes frames; ``groups``: handles the frames of
  consumer groups.
- ``share_groups``: counts the records that consumers of share groups acquire and acknowledge, and publishes the sums.
- ``telemetry``: answers clients' telemetry requests instead of the brokers, and handles the metrics that clients push
  (KIP-714).
- ``seats``: decides which consumers take over the seats of others (pure); ``seating``: carries out these decisions.
- ``connection_relay``: forwards frames between a client's connection and a broker's connection;
  ``connection_interceptor``: changes these frames; ``requests_in_flight``: tracks requests that have no response yet,
  including the gateway's own; ``client_software``: reads the name of the client's library; ``pushing_member``: finds
  the member whose client pushed metrics.
- ``group_rules``: the rules that choose groups and their strategies; ``seat_rules``: the rules that choose groups with
  seats; ``rule_texts``: parses both kinds of rules; ``explain_rules``: explains in words the rules for one group;
  ``explained_fields``: the same as fields, for programs.
- ``past``: finds the recorded rebalances of a group that seats would have avoided.
- ``connection_readiness``: tracks whether a consumer is ready.
- ``gateway_counters``: the gateway's metrics; ``rate_limited_log``: logs warnings at a limited rate.
"""
