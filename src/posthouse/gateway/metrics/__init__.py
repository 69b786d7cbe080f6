"""Prometheus metrics of one gateway."""
