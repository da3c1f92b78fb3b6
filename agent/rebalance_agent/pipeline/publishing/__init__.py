"""Publishes results of the pipeline to Kafka, for observers.

- ``baseline_messages``: makes one record for each group, from its baselines and its recommended changes;
  ``baselines_topic``: writes the records to the compacted topic, and deletes the records of other groups.
"""
