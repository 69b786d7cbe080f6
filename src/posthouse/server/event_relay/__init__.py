"""Relays the events of all gateways into the server's journal while the server has subscribers.

Owns the position in each gateway's events; the journal owns the ids with which the server's readers resume.
"""
