"""The locks of seats as ``Lease`` objects of Kubernetes, where gateways of one group are pods of one namespace.

- ``api_server``: requests to Kubernetes' API server with the pod's service account.
- ``lease_requests``: the requests for the locks of one group.
"""
