"""Our assignors compared with those of other clients."""
