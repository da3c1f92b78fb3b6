"""Measures the observer's reading, delay, takeover and scrapes, beside a bare reader or prometheus_client."""
