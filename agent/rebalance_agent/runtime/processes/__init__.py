"""The three roles as processes (observer, sidecar, gateway), and what every process needs.

The only package that imports ``apscheduler``: ``schedule`` runs what is repeated.
"""
