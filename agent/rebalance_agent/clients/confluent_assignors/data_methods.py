"""Methods of confluent-kafka's consumer that are passed on to the data consumer."""

from __future__ import annotations

from typing import Any

import confluent_kafka
from confluent_kafka import TopicPartition

from rebalance_agent.clients.confluent_assignors.kafka_errors import refused
from rebalance_agent.clients.confluent_assignors.offsets import OffsetStore, listed

__all__ = ["DataMethods"]


class DataMethods:
    """The methods of ``confluent_kafka.Consumer`` for partitions, offsets and metadata, without the group."""

    _data: confluent_kafka.Consumer
    _offset_store: OffsetStore

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that are read."""
        # Not the data consumer's assignment(), which does not return while another thread polls.
        return listed(self._offset_store.owned)

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Like confluent-kafka's: the last delivered offset + 1."""
        return self._data.position(partitions)

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """Like confluent-kafka's."""
        return self._data.committed(partitions, timeout=timeout)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Like confluent-kafka's."""
        self._data.pause(partitions)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Like confluent-kafka's."""
        self._data.resume(partitions)

    def seek(self, partition: TopicPartition) -> None:
        """Like confluent-kafka's."""
        self._data.seek(partition)

    def get_watermark_offsets(self, partition: TopicPartition, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """Like confluent-kafka's."""
        return self._data.get_watermark_offsets(partition, *arguments, **options)

    def offsets_for_times(self, partitions: list[TopicPartition], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """Like confluent-kafka's."""
        return self._data.offsets_for_times(partitions, *arguments, **options)

    def list_topics(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """Like confluent-kafka's."""
        return self._data.list_topics(*arguments, **options)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Refuse to change the credentials.

        Raises:
            KafkaException: always (``_NOT_IMPLEMENTED``).
        """
        del username, password
        raise refused("set_sasl_credentials(): kafka-python cannot change its credentials")
