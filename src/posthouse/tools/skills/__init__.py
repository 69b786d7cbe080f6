"""The skills that teach an agent to use its mailbox, and how they get into the home of its CLI.

Which folder of a home holds skills is each tool's own knowledge; when they are due is the session's.
"""

from posthouse.tools.skills.installation import NAMES, install, text_of

__all__ = ["NAMES", "install", "text_of"]
