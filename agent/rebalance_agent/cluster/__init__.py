"""Access to one Kafka cluster: the admin client, a reader of whole topics, access rights, worker threads.

- ``admin_client``: plain values out, `ClusterError` where the cluster does not answer; ``admin_answers`` waits for the
  client's futures, ``group_answers`` reads its group descriptions.
- ``topic_reader``: all partitions of one topic, without a group; ``read_to_end``: a topic up to its present end.
- ``access``, ``acls``: what this principal may do, and how to grant it the rest.
- ``agent_topics``: the agent's own topics.
- ``worker``, ``repeated_poll``, ``backoff``: threads and polls that survive failures.
- ``collector_context``, ``inbox``, ``name_filters``: what every collector is given, and where its observations go.

It asks and reads with ``confluent_kafka``, and knows groups by name only. What records say is read in
``offsets_topic``; what brokers answer is read in ``polls``.
"""
