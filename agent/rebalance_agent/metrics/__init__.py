"""The catalogue of metrics as data, and pure functions from what is known to samples.

No text format, no registry, no clock: the exposition room renders what this one says.
"""
