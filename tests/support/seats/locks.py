"""The locks of seats that all gateways of the model share."""

from __future__ import annotations

LOCK_SECONDS = 20.0


class Locks:
    """Instance id -> (gateway's token, until): a compare-and-set with expiry."""

    def __init__(self):
        self.held = {}

    def claim(self, instance_id, gateway, now):
        holder, until = self.held.get(instance_id, (None, 0.0))
        if holder is not gateway.token and until > now:
            return False
        self.held[instance_id] = (gateway.token, now + LOCK_SECONDS)
        return True

    def release(self, instance_id, gateway):
        if self.held.get(instance_id, (None, 0.0))[0] is gateway.token:
            del self.held[instance_id]

    def free(self, instance_id, now):
        return self.held.get(instance_id, (None, 0.0))[1] <= now
