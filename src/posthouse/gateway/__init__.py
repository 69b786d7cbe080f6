"""The sidecar beside one agent: requests come in over HTTP, wait on disk, and are carried out one by one.

Owns the gateway root of a session: queue, status, events, log, live bindings. Callers own the agent's
life. `attach` starts and ends a gateway process; `python -m posthouse.gateway` is that process.
A gateway keeps no process-global state, so that one process may host many.

Nothing is imported here: `attach` is on the way of the command line, which must not pay for HTTP.
"""
