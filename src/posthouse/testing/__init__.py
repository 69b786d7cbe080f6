"""What tests hold the system against: the scripted agent's truth log, a terminal of their own.

Nothing of the product imports this package.
"""
