"""Provides access to one Kafka cluster: the admin client, a reader of whole topics, permissions, worker threads.

- ``admin_client``: the admin API with plain values, and `ClusterError` if the cluster does not answer.
  ``admin_answers`` waits for the client's futures; ``group_answers`` reads the client's group descriptions, which
  ``describing`` requests in a separate process.
- ``topic_reader``: reads all partitions of one topic, without a group; ``read_to_end``: reads up to the current end.
- ``access``: what this principal may do; ``acls``: the principal's name, and the command that grants a permission.
- ``tokens``: logins with tokens from cloud providers' own libraries.
- ``agent_topics``: creates the agent's own topics, and the producer that writes to them.
- ``worker``, ``repeated_poll``, ``backoff``: threads and polls that continue after failures.
- ``collector_context``: the objects that every collector gets; ``inbox``: the queue of observations; ``name_filters``:
  which groups and topics are shown.

The package uses ``confluent_kafka``, and processes only the names of groups: ``offsets_topic`` reads their records,
``polls`` queries the brokers about them.
"""
