"""Tell me when: a command or a webhook hears when one agent finished, failed, is blocked or limited.

The journal is the queue: each target has its own place in it, so that nothing is lost over restarts and a
target that hangs holds up nobody else.
"""
