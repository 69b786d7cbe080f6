"""When an agent is taught to use its mailbox: at every start with one, and when it is given one.

The skills stay when the mailbox is taken away: a home may serve several agents, and the first step of each
skill finds out that there is none.
"""

from collections.abc import Sequence
from pathlib import Path

from posthouse import tools
from posthouse.sessions.session import Session


def provide(made: Session) -> Sequence[str]:
    """Have the mailbox skills in the session's home, if it has a mailbox; what its user should know.

    An agent without skills can still be told what to do, so trouble with them is only a warning.
    """
    plan = made.manifest.launch_plan
    if plan.mailbox is None:
        return ()
    folder = tools.load(made.manifest.tool).skills_folder(Path(plan.home_selector.home_path))
    # Here because most commands start no agent.
    from posthouse.tools import skills

    try:
        others = skills.install(folder)
    except OSError as error:
        return (f"the mailbox skills can't be written to {folder} ({error.strerror}): the agent has none",)
    return tuple(
        f"{path} is not ours and was left as it is: remove it and relaunch to get our mailbox skill"
        for path in others
    )
