"""Headless agents and their turns: launched, recorded, started, followed, interrupted.

Owns the records under `managed_agents/`. The artifacts under the session's root are authoritative; a record
that lags behind is updated from them.
"""
