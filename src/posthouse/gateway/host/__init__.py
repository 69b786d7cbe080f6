"""Many gateways in one process, each with its own port, files, log and queue.

Owns `<runtime root>/gateway-host/`: lock, control socket, log, and the registry of hosted gateways. There is
one host per runtime root. Attach and detach use `gateway_lifecycle.host_client`; the process is
`python -m posthouse.gateway.host`, and `keeper` restarts it when it dies.

This module imports nothing, so that importing the package stays cheap.
"""
