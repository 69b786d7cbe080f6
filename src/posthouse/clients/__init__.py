"""Typed HTTP clients of our own services. Standard library only: the command line starts with them."""
