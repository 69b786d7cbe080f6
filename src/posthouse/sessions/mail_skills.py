"""Installs the mailbox skills: at every start with a mailbox, and when a mailbox is bound.

The skills stay when the mailbox is unbound: a home may serve several agents, and the first step of each
skill checks for a mailbox.
"""

from collections.abc import Sequence
from pathlib import Path

from posthouse import tools
from posthouse.sessions.session import Session


def install(made: Session) -> Sequence[str]:
    """Install the mailbox skills in the session's home if it has a mailbox; the warnings for the user.

    An agent without skills is still usable, so a failure is only a warning.
    """
    plan = made.manifest.launch_plan
    if plan.mailbox is None:
        return ()
    folder = tools.load(made.manifest.tool).skills_folder(Path(plan.home_selector.home_path))
    # Imported here because most commands start no agent.
    from posthouse.tools import skills

    try:
        others = skills.install(folder)
    except OSError as error:
        return (f"the mailbox skills can't be written to {folder} ({error.strerror}): the agent has none",)
    return tuple(
        f"{path} is not ours and was left as it is: remove it and relaunch to get our mailbox skill"
        for path in others
    )
