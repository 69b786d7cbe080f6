"""Typed HTTP clients of our own services. Standard library only, because the command line starts with them;
`connections` is for processes that ask all day."""
