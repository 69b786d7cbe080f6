"""`project …`: overlays (state folders of single projects) and the trust in them."""

from pathlib import Path

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.contracts import names
from posthouse.sessions import overlay_trust, roots


def init_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def init(call: Call) -> int:
    """Create an overlay; agents launched below the folder keep their state in it."""
    overlay = roots.make_overlay(_folder(call), roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "trusted"}, f"the project overlay is {overlay}")
    return 0


def trust_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def trust(call: Call) -> int:
    """Trust an overlay that `project init` did not create. Review its contents first."""
    overlay = _folder(call) / names.OVERLAY_FOLDER
    overlay_trust.trust(overlay, roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "trusted"}, f"{overlay} is trusted")
    return 0


def untrust_arguments(parser: Parser) -> None:
    _folder_argument(parser)


def untrust(call: Call) -> int:
    """Stop trusting an overlay. Its files and running agents stay."""
    overlay = _folder(call) / names.OVERLAY_FOLDER
    overlay_trust.untrust(overlay, roots.home_anchor(call.wiring.environment))
    call.output.result({"overlay": str(overlay), "status": "untrusted"}, f"{overlay} is no longer trusted")
    return 0


def listing(call: Call) -> int:
    """List the trusted overlays, including removed and replaced ones."""
    found = overlay_trust.list_trusted(roots.home_anchor(call.wiring.environment))
    call.output.table(
        {"overlays": [{"overlay": str(one.overlay), "is_current": one.is_current} for one in found]},
        ("overlay", "state"),
        [
            (Cell(str(one.overlay)), Cell("trusted" if one.is_current else "gone or replaced"))
            for one in found
        ],
        empty="no trusted overlays; create one with: project init",
    )
    return 0


def _folder_argument(parser: Parser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="the project's folder (default: the current one)",
    )


def _folder(call: Call) -> Path:
    """The folder that holds the overlay."""
    return (call.wiring.working_directory / (call.arguments.folder or "")).resolve()
