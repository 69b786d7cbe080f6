"""Many gateways in one process, each with its own port, files, log and queue as if it had its own process.

Owns `<runtime root>/gateway-host/`: lock, control socket, log, and the roll of what it serves; there is one
host for one runtime root. `calling` is what attach and detach use, `python -m posthouse.gateway.host` is the
process, and `keeper` starts it again when it dies.

Nothing is imported here: `calling` is on the way of the command line.
"""
