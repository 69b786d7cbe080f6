"""The event log of a process: numbered, retained for a while, resumable by event id.

Owns the file, the ids and the readers. Processes own the events, `web` how they are sent.
"""
