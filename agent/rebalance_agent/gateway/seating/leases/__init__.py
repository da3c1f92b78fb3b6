"""Stores the locks of seats as Kubernetes ``Lease`` objects, if a group's gateways are pods in one namespace.

- ``api_server``: sends requests to Kubernetes' API server with the pod's service account.
- ``lease_requests``: sends the requests for the locks of one group.
"""
