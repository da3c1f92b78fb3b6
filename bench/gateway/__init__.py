"""Measures the gateway, compared with a direct connection and with a plain forwarder."""
