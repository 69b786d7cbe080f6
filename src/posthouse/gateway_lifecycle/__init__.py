"""Starts, finds and ends the gateway of a session, and manages a session's mailbox and bindings.

Used by the command line and by processes that drive agents; the gateway process is `posthouse.gateway`.
"""
