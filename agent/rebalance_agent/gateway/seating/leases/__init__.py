"""The locks of seats as Kubernetes ``Lease`` objects, if the gateways of a group are pods in one namespace.

- ``api_server``: requests to Kubernetes' API server with the pod's service account.
- ``lease_requests``: the requests for the locks of one group.
"""
