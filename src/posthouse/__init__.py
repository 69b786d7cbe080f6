"""Posthouse: a front door for CLI coding agents."""

__version__ = "0.1.0"
