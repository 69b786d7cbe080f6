"""Headless turns: each runs one program in the agent's pane and records its outcome.

Owns the turn folder: `runner.start` writes the order and starts the bridge, the bridge runs the program and
records events and exit code, `turn.Turn` derives everything else from those files. Callers choose the next
turn, its id and index, and handle its outcome.

Modules are imported by name, because the bridge runs without a virtual environment and each import costs
start time. `bridge`, `execution` and everything they import use the standard library only.
"""
