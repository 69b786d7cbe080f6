"""A session's gateway as others see it: started, found, ended, and what stands beside a session with it.

Used by the command line and by every process that drives agents; the gateway itself is `posthouse.gateway`.
"""
