"""The HTTP routes of the coordination server."""
