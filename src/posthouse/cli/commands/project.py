"""`project …`: overlays, the state folders of single projects, and which of them this user trusts."""

from pathlib import Path

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.contracts import names
from posthouse.sessions import overlay_trust, roots


def init_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def init(call: Call) -> int:
    """Make an overlay; agents launched below the folder keep their state in it."""
    overlay = roots.make_overlay(_folder(call), roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "trusted"}, f"the project overlay is {overlay}")
    return 0


def trust_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def trust(call: Call) -> int:
    """Trust an overlay that you did not make with `project init`. Look at what is in it first."""
    overlay = _folder(call) / names.OVERLAY_FOLDER
    overlay_trust.trust(overlay, roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "trusted"}, f"{overlay} is trusted")
    return 0


def untrust_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def untrust(call: Call) -> int:
    """Stop trusting an overlay. Its files stay, and so do agents that run."""
    overlay = _folder(call) / names.OVERLAY_FOLDER
    overlay_trust.untrust(overlay, roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "untrusted"}, f"{overlay} is not trusted any more")
    return 0


def listing(call: Call) -> int:
    """List the trusted overlays, with those that are gone or were replaced since."""
    found = overlay_trust.listed(roots.home_anchor(call.wiring.environment))
    call.output.table(
        {"overlays": [{"overlay": str(one.overlay), "is_current": one.is_current} for one in found]},
        ("overlay", "state"),
        [
            (Cell(str(one.overlay)), Cell("trusted" if one.is_current else "gone or replaced"))
            for one in found
        ],
        empty="no trusted overlays; make one with: project init",
    )
    return 0


def _folder_argument(parser: Parser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: the current folder")


def _folder(call: Call) -> Path:
    """The folder that holds the overlay."""
    return (call.wiring.working_directory / (call.arguments.folder or "")).resolve()
