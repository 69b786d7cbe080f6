"""What the routes of all families share."""

from typing import Final

#: Any name of the contract: id, agent name, session name, session id.
AGENT: Final = "/houmao/agents/{agent_ref}"
FINDING: Final = {404: "No agent answers to that name.", 409: "More than one does; `agent_ids` says which."}
