"""What tmux remembers of the real CLIs: neither their keys nor what they were asked."""

import pytest

from posthouse.testing import clis, mail_clis, tmux_log
from posthouse.testing.cli_rig import Place
from posthouse.testing.scripted_agents import House

_PROMPT = 'the c0nfidential prompt [[mock {"text": "done"}]]'


@pytest.mark.parametrize(
    ("tool", "is_headless"), [("claude", False), ("claude", True), ("codex", False)], ids=str
)
def test_the_log_of_tmux_has_no_key_and_no_prompt(
    house: House, place: Place, tool: str, is_headless: bool
) -> None:
    """Every client of the server can read the log, also when the agent has stopped."""
    tmux_log.keep(place.server)
    made, _ = mail_clis.launch(house, tool, place.api.base_url, is_headless=is_headless)
    asked = house.client(made).submit_prompt(_PROMPT)["request_id"]
    receipt = house.receipt(made, asked)
    house.agents.stop(house.agents.find(name=mail_clis.NAME))

    log = tmux_log.read(place.server)

    prompts = [record.prompt for record in place.api.main_records()]
    assert (receipt["state"], prompts.count(_PROMPT)) == ("completed", 1)
    assert ("respawn-pane" in log, clis.API_KEY in log, "c0nfidential" in log) == (True, False, False)
