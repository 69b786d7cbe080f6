"""Definitions shared by all route modules."""

from typing import Final

#: `agent_ref` is an id, agent name, session name or session id.
AGENT: Final = "/houmao/agents/{agent_ref}"
FINDING: Final = {
    404: "No agent has that name.",
    409: "Several agents have that name; `agent_ids` lists them.",
}
