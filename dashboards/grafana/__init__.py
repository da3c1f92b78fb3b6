"""Grafana's JSON of boards, made with Grafana's own builders."""
