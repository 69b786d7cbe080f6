"""The coordination server's own routes."""
