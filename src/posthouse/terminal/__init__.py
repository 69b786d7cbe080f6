"""tmux: where agents run, what their screens show, and typing into them.

Owns: all communication with tmux. `client` runs commands as plain processes, `session` has the operations
on one agent's session, `control` is an attached control client that receives output, `keys` parses the
`<[key-name]>` grammar, `delivery` pastes a prompt and determines whether the agent accepted it.
Callers own: which agent lives in which session, what its screen means (`tools`), and when to type.

Nothing is imported here, so that the command line does not load asyncio.
"""
