"""Notifies commands and webhooks when an agent finished, failed, is blocked or has reached a usage limit.

The journal is the queue: each target has its own position in it, so that restarts lose nothing and a target
that hangs does not delay the others.
"""
