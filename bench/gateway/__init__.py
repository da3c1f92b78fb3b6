"""Compares the gateway with a direct connection and with a plain forwarder."""
