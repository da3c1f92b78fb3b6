"""Our assignors beside those of other clients."""
