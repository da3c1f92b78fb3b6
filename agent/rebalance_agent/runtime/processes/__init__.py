"""The three roles as processes (observer, sidecar, gateway), and what every process needs."""
