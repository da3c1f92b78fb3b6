"""Measures our assignors, compared with the assignors of other clients."""
