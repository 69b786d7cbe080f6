"""Wakes an agent for its mail: at an interval, or as soon as mail arrives."""
