"""Headless turns: one ordered program in the agent's pane, and what became of it.

Owns the turn folder: `runner.start` writes the order and starts the bridge, the bridge writes what
happened, `turn.Turn` derives everything else from those files. Callers own which turn comes next,
its id and index, and whatever follows from its outcome.

Modules are imported by name, because the bridge runs without a virtual environment and pays for each:
standard library only are `bridge`, `carry`, `child`, `folder`, `narration`, `order`, `outcome`, `pane`,
`render`, `stopping` and `tail`.
"""
