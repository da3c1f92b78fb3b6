"""Speaks Kafka's protocol between one pod's consumers and the brokers, and touches nothing of it but the group's part.

It rewrites where brokers are said to be, puts our strategies into JoinGroup and SyncGroup of the groups it is told to,
and passes everything else on as it came. It is not a broker, not a client library, and not a place for records.
"""
