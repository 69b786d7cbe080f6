"""How each agent is: a summary, a detail and a coarse history, in the same shapes with and without a gateway.

Owns looking at TUIs that no gateway watches, and only for as long as somebody asks about them.
"""
