"""The demo's child processes: members, producer, gateways; how they are started, addressed and ended."""
