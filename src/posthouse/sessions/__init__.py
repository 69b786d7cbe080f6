"""Sessions: manifest, registry, launch, join, stop, relaunch, resolve.

Owns where an agent is and how it is started and ended. Callers own what is asked of it: turns,
gateways and typing come from the process above.
"""
