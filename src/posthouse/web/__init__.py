"""The HTTP server of our processes: a table of routes gives the application and its OpenAPI document.

Owns access control, the HTTP protocol and the error responses; the processes own their routes.
"""
