"""Typed HTTP clients of our own services. Standard library only, because the command line imports them;
`connections` is the connection pool of long-running processes."""
