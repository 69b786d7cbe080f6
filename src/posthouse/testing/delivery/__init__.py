"""Prompts in random shapes, typed into a real TUI, every claim held against what really arrived.

`trials` makes them, `rig` runs the agent, `judging` compares. The short form is a test, the long one a bench.
"""
