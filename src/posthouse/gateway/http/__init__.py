"""The gateway's HTTP API: access control, routes and the OpenAPI document."""
