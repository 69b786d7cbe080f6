"""Claude Code: so far, the words of its headless event stream."""
