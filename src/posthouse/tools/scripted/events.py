"""The scripted agent's headless stream: the same format as Claude's."""

from posthouse.tools.claude.events import PROVIDER, decode, session_id

__all__ = ["PROVIDER", "decode", "session_id"]
