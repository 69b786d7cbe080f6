"""The command line: one program as `posthouse` and `houmao-mgr`.

`tree` is the table of commands, `commands/` has their bodies, one module per group; only the module of the
chosen command is imported. Only `wiring` reads the environment and constructs; bodies get a `Call`.
"""
