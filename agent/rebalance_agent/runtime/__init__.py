"""What runs as a process: settings, logs, the observer, the sidecar, and the publisher of events.

Puts the other rooms together; knows no Kafka record, no metric name, no rule of the tracker.
"""
