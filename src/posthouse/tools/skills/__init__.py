"""The agent skills for mailbox use, and their installation in a CLI's home.

The tool defines the skills folder of a home; the session decides when to install.
"""

from posthouse.tools.skills.installation import NAMES, install, text_of

__all__ = ["NAMES", "install", "text_of"]
