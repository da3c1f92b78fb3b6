"""Compares our assignors with the assignors of other clients."""
