"""Infers the state of a TUI from observations of its screen and noted prompts. Pure: time is an argument.

Owns the inferred state; callers own observing the TUI and presenting the state.
"""
