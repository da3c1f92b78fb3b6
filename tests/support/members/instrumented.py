"""An instrumented member of kafka-python in this process."""

from __future__ import annotations

import threading

PATIENCE_S = 60


class Member:
    """An instrumented kafka-python consumer, polled by its own thread."""

    def __init__(self, bootstrap, group, topic, events_url, revoking_s=0.0):
        from kafka.consumer.subscription_state import ConsumerRebalanceListener  # noqa: PLC0415

        from rebalance_agent.clients.kafka_python.consumer import KafkaConsumer  # noqa: PLC0415

        stop = self._stop = threading.Event()

        class Slow(ConsumerRebalanceListener):
            def on_partitions_revoked(self, revoked):
                if revoked:
                    stop.wait(revoking_s)

            def on_partitions_assigned(self, assigned):
                pass

        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            heartbeat_interval_ms=200,
            events_url=events_url,
            listener=Slow(),
        )

        def poll():
            while not stop.is_set():
                consumer.poll(50)
            consumer.close()

        self._thread = threading.Thread(target=poll, daemon=True)
        self._thread.start()

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE_S)
