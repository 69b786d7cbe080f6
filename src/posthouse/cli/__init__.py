"""The command line: one program as `posthouse` and `houmao-mgr`.

`tree` is the table of commands, `commands/` has their bodies, one module per group; only the chosen
one is imported. `wiring` alone reads the environment and constructs; the bodies are handed a `Call`.
"""
