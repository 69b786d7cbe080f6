"""`demo up`, `down` and `reset`, used by `./run`."""

import shlex
import signal
from types import FrameType

from posthouse.cli import agent_description
from posthouse.cli.context import Call
from posthouse.cli.demo import DEMO_AGENTS, AgentRow, Demo
from posthouse.cli.output import Cell
from posthouse.support import locks

_HEADINGS = ("name", "kind", "state", "gateway", "open its terminal")
#: SIGINT too: shells start background jobs with it ignored, and `kill -INT` must still stop the demo.
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DOWN_SECONDS = 60.0


def up(call: Call) -> int:
    """Run the demo until Ctrl-C; if it already runs, show it."""
    demo = _demo(call)
    try:
        with demo.hold_lock():
            return _run(call, demo)
    except locks.LockHeld as error:
        call.notice(
            f"the demo is already running (process {error.holder}); "
            f"stop it with `{call.wiring.demo_down(call.prog)}`"
        )
        _show(call, demo)
        return 0


def down(call: Call) -> int:
    """Stop the demo, also one of another process."""
    demo = _demo(call)
    was_running = _stop_owner(demo)
    with locks.hold(demo.lock, wait_seconds=_DOWN_SECONDS):
        stopped = demo.stop()
    something = was_running or bool(stopped)
    call.output.result(
        {"status": "stopped", "was_running": something},
        "the demo is stopped" if something else "the demo was not running",
    )
    return 0


def reset(call: Call) -> int:
    """Stop the demo and remove its state."""
    demo = _demo(call)
    _stop_owner(demo)
    with locks.hold(demo.lock, wait_seconds=_DOWN_SECONDS):
        demo.stop()
        demo.remove()
    call.output.result(
        {"status": "reset", "home": str(demo.home)}, f"the demo's state in {demo.home} is removed"
    )
    return 0


def _demo(call: Call) -> Demo:
    wiring = call.wiring.for_demo()
    return Demo(wiring, wiring.demo_home)


def _run(call: Call, demo: Demo) -> int:
    for number in _STOP_SIGNALS:
        signal.signal(number, _raise_keyboard_interrupt)
    try:
        for demo_agent in DEMO_AGENTS:
            call.notice(f"starting {demo_agent.name} …")
            demo.start(demo_agent)
        call.notice("starting the coordination server …")
        demo.start_server()
        _show(call, demo)
        while True:
            signal.pause()
    except KeyboardInterrupt:
        call.notice("\nstopping …")
        return 0
    finally:
        # After a second Ctrl-C, the next start reuses the leftovers.
        demo.stop()


def _raise_keyboard_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _stop_owner(demo: Demo) -> bool:
    """Signal the process that runs the demo to stop. False: there is none."""
    try:
        with demo.hold_lock():
            return False
    except locks.LockHeld:
        locks.signal_holder(demo.lock, signal.SIGTERM)
        return True


def _show(call: Call, demo: Demo) -> None:
    table, address = demo.table(), demo.server_url
    prefix = call.wiring.demo_prefix(call.prog)
    call.output.table(
        {"home": str(demo.home), "server": address, "agents": [_listed(row) for row in table]},
        _HEADINGS,
        [_row(row, prefix) for row in table],
        empty="the demo has no agents yet",
    )
    if not call.output.is_json:
        call.output.line(_hints(table, address, prefix, call.wiring.demo_down(call.prog)))


def _row(row: AgentRow, prefix: str) -> list[Cell]:
    gateway = row.gateway
    return [
        Cell(row.agent.name, "strong"),
        Cell(agent_description.kind(row.agent)),
        Cell(row.state, "good" if row.state == "ready" else "busy"),
        Cell(f"http://{gateway.host}:{gateway.port}" if gateway else "-"),
        Cell(f"{prefix} agents attach {row.agent.name}"),
    ]


def _listed(row: AgentRow) -> dict[str, object]:
    gateway = row.gateway
    return agent_description.listed(row.agent) | {
        "turn_phase": row.state,
        "gateway": {"host": gateway.host, "port": gateway.port} if gateway else None,
    }


def _hints(table: list[AgentRow], address: str | None, prefix: str, down: str) -> str:
    lines = [""]
    if address is not None:
        lines += [
            f"One address for both: {address}",
            "",
            "Prompt an agent from any program and print its answer:",
        ]
        lines += ["", *_curl(address, DEMO_AGENTS[-1].name)]
    lines += ["", "What to try next, in another terminal:"]
    for row in table:
        lines.append(f"  {prefix} agents prompt {row.agent.name} --wait 'hello [[say hi there]]'")
    lines.append(f"  {prefix} agents watch")
    lines.append(
        f"  {prefix} agents mail send demo-tui --to demo-headless@houmao.localhost --subject hello "
        "--body-content 'any news?'"
    )
    lines.append(f"  {prefix} agents mail list demo-headless")
    lines.append(f"  {prefix} agents list")
    lines.append("")
    lines.append(f"Ctrl-C here stops it, as does `{down}`.")
    return "\n".join(lines)


def _curl(address: str, name: str) -> list[str]:
    """Shell commands: the first curl submits a prompt, the second waits for its outcome."""
    body = shlex.quote('{"kind":"submit_prompt","payload":{"prompt":"hello [[say hi there]]"}}')
    return [
        f"  url={address}/houmao/agents/{name}/gateway/requests",
        f"  curl -s $url -H 'content-type: application/json' -d {body} \\",
        """    | grep -o 'gwreq-[^"]*' | xargs -I{} curl -s "$url/{}?wait=30" | grep -o '"answer":"[^"]*"'""",
    ]
