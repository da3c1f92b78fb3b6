"""The gateway beside none and beside a plain forwarder."""
