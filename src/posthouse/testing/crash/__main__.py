"""A worker of the crash matrix: plays the trials that come as lines of JSON on stdin, and tells each result.

python -m posthouse.testing.crash --folder DIR          plays
python -m posthouse.testing.crash --folder DIR --record tells how often each step is reached
"""

import argparse
import sys
from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.testing.crash.playing import ATTACH, DETACH, START, Player, player_in
from posthouse.testing.crash.scenarios import SCENARIOS
from posthouse.testing.crash.trial import AgentKind, Trial, Victim


def rows() -> list[tuple[str, AgentKind, Victim]]:
    """Every scenario with each of its agents and victims."""
    found = [
        (name, agent, victim)
        for name, scenario in SCENARIOS.items()
        for agent in scenario.agents
        for victim in scenario.victims
    ]
    agents: tuple[AgentKind, ...] = ("tui", "headless")
    for agent in agents:
        found += [(START, agent, "gateway"), (ATTACH, agent, "caller"), (DETACH, agent, "caller")]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="a worker of the crash matrix")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    with player_in(given.folder) as player:
        if given.record:
            _record(player)
        else:
            _play(player)
    return 0


def _record(player: Player) -> None:
    for name, agent, victim in rows():
        _tell(player.record(name, agent, victim))


def _play(player: Player) -> None:
    for line in sys.stdin.buffer:
        _tell(player.play(strict.decode(line, Trial)))


def _tell(value: msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
