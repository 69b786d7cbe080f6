"""`demo up`, `down` and `reset`: what `./run` does."""

import shlex
import signal
from types import FrameType

from posthouse.cli import agent_description
from posthouse.cli.context import Call
from posthouse.cli.demo import PARTS, Demo, Shown
from posthouse.cli.output import Cell
from posthouse.support import locks

_HEADINGS = ("name", "kind", "state", "gateway", "open its terminal")
#: SIGINT too: shells start background jobs with it ignored, and `kill -INT` must still stop the demo.
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DOWN_SECONDS = 60.0


def up(call: Call) -> int:
    """Run the demo until Ctrl-C; when it runs already, show it."""
    demo = _demo(call)
    try:
        with demo.running():
            return _run(call, demo)
    except locks.LockHeld as error:
        call.complain(
            f"the demo runs already (process {error.holder}); "
            f"stop it with `{call.wiring.demo_down(call.prog)}`"
        )
        _show(call, demo)
        return 0


def down(call: Call) -> int:
    """Stop the demo, whoever runs it."""
    demo = _demo(call)
    was_running = _end_runner(demo)
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
    _end_runner(demo)
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
        signal.signal(number, _as_ctrl_c)
    try:
        for part in PARTS:
            call.complain(f"starting {part.name} …")
            demo.start(part)
        call.complain("starting the coordination server …")
        demo.serve()
        _show(call, demo)
        while True:
            signal.pause()
    except KeyboardInterrupt:
        call.complain("\nstopping …")
        return 0
    finally:
        # Whatever ended it: a second Ctrl-C leaves the rest to the next start.
        demo.stop()


def _as_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_runner(demo: Demo) -> bool:
    """Ask the process that runs the demo to stop it. False when there is none."""
    try:
        with demo.running():
            return False
    except locks.LockHeld:
        locks.signal_holder(demo.lock, signal.SIGTERM)
        return True


def _show(call: Call, demo: Demo) -> None:
    table, address = demo.table(), demo.address
    prefix = call.wiring.demo_prefix(call.prog)
    call.output.table(
        {"home": str(demo.home), "server": address, "agents": [_listed(shown) for shown in table]},
        _HEADINGS,
        [_row(shown, prefix) for shown in table],
        empty="the demo has no agents yet",
    )
    if not call.output.is_json:
        call.output.line(_what_next(table, address, prefix, call.wiring.demo_down(call.prog)))


def _row(shown: Shown, prefix: str) -> list[Cell]:
    gateway = shown.gateway
    return [
        Cell(shown.agent.name, "strong"),
        Cell(agent_description.kind(shown.agent)),
        Cell(shown.state, "good" if shown.state == "ready" else "busy"),
        Cell(f"http://{gateway.host}:{gateway.port}" if gateway else "-"),
        Cell(f"{prefix} agents attach {shown.agent.name}"),
    ]


def _listed(shown: Shown) -> dict[str, object]:
    gateway = shown.gateway
    return agent_description.listed(shown.agent) | {
        "turn_phase": shown.state,
        "gateway": {"host": gateway.host, "port": gateway.port} if gateway else None,
    }


def _what_next(table: list[Shown], address: str | None, prefix: str, down: str) -> str:
    lines = [""]
    if address is not None:
        lines += [
            f"One address for both: {address}",
            "",
            "Prompt an agent from any program, and see its answer:",
        ]
        lines += ["", *_curl(address, PARTS[-1].name)]
    lines += ["", "What to try next, in another terminal:"]
    for shown in table:
        lines.append(f"  {prefix} agents prompt {shown.agent.name} --wait 'hello [[say hi there]]'")
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
    """Lines for the shell: the first curl prompts, the second waits for what became of it."""
    body = shlex.quote('{"kind":"submit_prompt","payload":{"prompt":"hello [[say hi there]]"}}')
    return [
        f"  url={address}/houmao/agents/{name}/gateway/requests",
        f"  curl -s $url -H 'content-type: application/json' -d {body} \\",
        """    | grep -o 'gwreq-[^"]*' | xargs -I{} curl -s "$url/{}?wait=30" | grep -o '"answer":"[^"]*"'""",
    ]
