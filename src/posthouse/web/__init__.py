"""How our processes serve HTTP: one table of routes gives the application and its OpenAPI document.

Owns the door, the wire and the shape of refusals; the processes own their routes.
"""
