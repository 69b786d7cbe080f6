"""Prompts and interrupts for agents of both transports.

Owns the routing: to an agent's live gateway, or to the agent itself without one.
"""
