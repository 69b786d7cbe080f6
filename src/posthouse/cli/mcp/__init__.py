"""Mail and agents as MCP tools over stdio, for any agent that speaks MCP.

Each tool is one command of ours with `--json`, in a process of its own: what people type and what tools do is
the same, a tool that hangs is killed alone, and nothing that is slow is loaded twice. Needs the extra `mcp`.
"""
