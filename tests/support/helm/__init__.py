"""The Helm chart in tests: rendered, checked, and released on a node (``support.cluster``)."""
