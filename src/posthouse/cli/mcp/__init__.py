"""Mail and agents as MCP tools over stdio, for any agent that supports MCP.

Each tool runs one `posthouse … --json` command in its own process, so tools behave as the command line does,
and a tool that hangs is killed alone. Needs the extra `mcp`.
"""
