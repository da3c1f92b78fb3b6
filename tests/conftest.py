"""The shared broker, for every test that asks for ``kafka``."""

pytest_plugins = ["rebalance_agent.testing.pytest_plugin"]
