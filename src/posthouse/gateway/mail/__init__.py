"""The mailbox of one gateway's agent: its routes, and the notifier that wakes the agent for its mail.

Owns what is said over HTTP and when an agent is woken. Where mail lies and how it is delivered is the
`mailbox` package's, and the binding is the session manifest's.
"""
