"""Access to one Kafka cluster: the admin client, a reader of whole topics, permissions, worker threads.

- ``admin_client``: the admin API with plain values, and `ClusterError` where the cluster does not answer.
  ``admin_answers`` waits for the client's futures; ``group_answers`` reads its group descriptions, which
  ``describing`` requests in a process of its own.
- ``topic_reader``: reads all partitions of one topic, without a group; ``read_to_end``: up to the present end.
- ``access``: what this principal may do; ``acls``: its name, and the command that grants a missing permission.
- ``tokens``: logins with tokens that a cloud's own library makes.
- ``agent_topics``: creates the agent's own topics, and the producer that writes to them.
- ``worker``, ``repeated_poll``, ``backoff``: threads and polls that survive failures.
- ``collector_context``: what every collector is given; ``inbox``: the queue of observations; ``name_filters``: which
  groups and topics are shown.

It uses ``confluent_kafka``, and knows groups by name only: ``offsets_topic`` reads their records, ``polls`` asks the
brokers about them.
"""
