"""Numbers about one gateway, for Prometheus."""
