"""Reminders: kept in memory, one effective at a time, delivered when the agent is free."""
