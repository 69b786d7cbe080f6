"""tmux: where agents run, what their screens show, and typing into them.

Owns: every word spoken to tmux. `client` talks to a server by plain processes, `session` gives the
operations on one agent's session, `control` stays attached and hears output, `keys` reads the
`<[key-name]>` grammar, `delivery` pastes a prompt and finds out whether it was taken.
Callers own: which agent lives in which session, what its screen means (`tools`), and when to type.

Nothing is imported here, so that the command line never pays for asyncio.
"""
