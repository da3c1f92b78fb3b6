"""The demo: real groups of real consumer processes on an embedded Kafka, with the agent beside them.

It uses the product as its users do: a sidecar and an observer process, flags, ``/metrics`` over HTTP and the events in
``rebalance-events``. Nothing here is imported by any other room but the command line.
"""
