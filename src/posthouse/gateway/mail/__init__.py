"""The mailbox of one gateway's agent: its routes, and the notifier that wakes the agent for its mail.

Owns the HTTP interface and the decision when an agent is woken. Storage and delivery belong to the `mailbox`
package; the binding is in the session manifest.
"""
