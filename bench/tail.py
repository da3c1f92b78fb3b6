"""Catching up with 500,000 records of 2,000 groups, one generation in fifty, the rest offset commits.

The observer is the whole product as users run it: decoding, tracking, /metrics. Beside it, in the same run, the least
that any reader of the topic does. The observer's figures are those of its catching up: its own start-up is taken off.
"""

from __future__ import annotations

from time import perf_counter, time_ns

from confluent_kafka.admin import AdminClient

from bench.bare_read import TOPIC
from bench.measure import in_process, table
from bench.observing import observer
from bench.synthetic import fill
from rebalance_agent.testing import EmbeddedKafka

RECORDS = 500_000
GROUPS = 2_000
READ = "rebalance_agent_read_records_total"


def main() -> None:
    """Print the table."""
    with EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        partitions = len(AdminClient({"bootstrap.servers": bootstrap}).list_topics(TOPIC).topics[TOPIC].partitions)
        with observer(bootstrap, "--events-topic", "") as idle:
            idle.wait_until("rebalance_agent_configured", 1, 30)
            start_up = idle.cpu_seconds()
        fill(bootstrap, RECORDS, GROUPS, time_ns() // 1_000_000, partitions)
        rows = []
        for _ in range(3):
            bare = in_process("bench.bare_read", bootstrap, str(partitions), str(RECORDS))
            rows.append(("bare read", RECORDS, bare["cpu_s"], 1.0, bare["process_wall_s"], bare["rss_mib"]))
            with observer(bootstrap, "--events-topic", "") as watching:
                begin = perf_counter()
                watching.wait_until(READ, RECORDS, 120)
                wall = perf_counter() - begin
                cpu = watching.cpu_seconds() - start_up
                rows.append(("observer", RECORDS, cpu, cpu / bare["cpu_s"], wall, watching.rss_mib()))
        table(("reader", "records", "CPU s", "ratio", "wall s", "RSS MiB"), rows)
