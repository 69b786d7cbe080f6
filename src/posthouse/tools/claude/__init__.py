"""Claude Code: its command lines, home, login, screens, transcript and event stream."""
