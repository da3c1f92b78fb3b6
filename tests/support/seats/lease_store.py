"""Lease objects of one namespace, as Kubernetes' API server keeps them.

The answers are those of a real one (``tests/helm/test_leases.py``).
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs, unquote

__all__ = ["LeaseStore"]


class LeaseStore:
    """Implements `Objects`. ``status``: that of every answer, if it is set; ``before``: called before each change."""

    def __init__(self):
        self.leases, self.asked, self.status = {}, [], None
        self.before = lambda: None
        self._versions = 0

    async def run(self, work):
        return work()

    def request(self, method, path, body=None):
        self.asked.append((method, path))
        if self.status is not None:
            return self.status, {}
        kind, _, rest = path.partition("?")
        name = unquote(kind.partition("/")[2])
        if method == "GET" and not name:
            label, _, value = parse_qs(rest)["labelSelector"][0].partition("=")
            found = [one for one in self.leases.values() if one["metadata"]["labels"].get(label) == value]
            return 200, {"items": json.loads(json.dumps(found))}
        if method == "GET":
            found = self.leases.get(name)
            return (404, {}) if found is None else (200, json.loads(json.dumps(found)))
        self.before()
        if method == "DELETE":
            known = self.leases.get(name)
            if known is None or known["metadata"]["resourceVersion"] != body["preconditions"]["resourceVersion"]:
                return 409, {}
            del self.leases[name]
            return 200, {}
        name = body["metadata"]["name"]
        known = self.leases.get(name)
        version = None if known is None else known["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion") != version:
            return 409, {}
        self._versions += 1
        stored = json.loads(json.dumps(body))
        stored["metadata"]["resourceVersion"] = str(self._versions)
        self.leases[name] = stored
        return (201 if method == "POST" else 200), stored
