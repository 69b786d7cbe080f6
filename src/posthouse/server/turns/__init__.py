"""Headless agents and their turns: launched, recorded, started, followed, interrupted.

Owns the records under `managed_agents/`. The truth of a turn is in its artifacts under the session's root; a
record that says less is brought up to it.
"""
