"""The gateway's HTTP edge: who may come in, what a connection may ask, routes, the OpenAPI document."""
