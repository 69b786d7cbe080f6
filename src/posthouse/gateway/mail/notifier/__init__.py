"""Wakes an agent for its mail: by the interval that the contract knows, or at once."""
