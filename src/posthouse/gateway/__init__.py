"""The sidecar of one agent: accepts requests over HTTP, queues them on disk, and runs them one by one.

Owns the gateway root of a session: queue, status, events, log, live bindings. Callers own the agent's
lifecycle. `attach` starts and ends a gateway process; `python -m posthouse.gateway` is that process.
A gateway keeps no process-global state, so that one process may host many.

This module imports nothing: the command line imports the package and must not load HTTP.
"""
