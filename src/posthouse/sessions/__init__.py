"""Sessions: manifest, registry, launch, join, stop, relaunch, resolve.

Owns the location, start and end of agents. Callers own turns, gateways and typing.
"""
