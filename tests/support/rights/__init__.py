"""Permissions for tests: granted on a broker, and as a fake that responds like one."""
