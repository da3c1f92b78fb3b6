"""The observer: reading, delay, takeover, scrapes, each beside a bare reader or prometheus_client; hostile tenants."""
