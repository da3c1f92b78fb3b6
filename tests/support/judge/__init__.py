"""Helpers of the judge's tests."""
