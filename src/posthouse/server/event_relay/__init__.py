"""The events of all gateways in the server's own journal, for as long as somebody listens.

Owns how far each gateway was heard; the journal owns the ids by which the server's readers go on.
"""
