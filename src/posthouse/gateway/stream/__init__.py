"""The gateway's events as they happen: numbered, kept for a while, told to whoever listens."""
