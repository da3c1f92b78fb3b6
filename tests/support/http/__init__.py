"""HTTP in tests: servers on loopback, applications without a listener, and the API with its document."""
