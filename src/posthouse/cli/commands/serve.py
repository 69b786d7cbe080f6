"""`serve`: runs the coordination server in this terminal."""

import os
from pathlib import Path
from typing import NoReturn

from posthouse.cli import servers
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.contracts import names
from posthouse.contracts import server_files as cf


def serve_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--host",
        choices=("127.0.0.1", "0.0.0.0"),
        default="127.0.0.1",
        help="the listen address (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"the port; 0: a free one (default: {names.SERVER_PORT}, else {cf.DEFAULT_PORT})",
    )
    parser.add_argument("--runtime-root", type=Path, metavar="PATH", help="the folder for the server's files")


def serve(call: Call) -> NoReturn:
    """Serve every agent of the registry until Ctrl-C or `POST /houmao/server/shutdown`."""
    given, roots = call.arguments, call.wiring.roots
    runtime_root = (given.runtime_root or roots.runtime).absolute()
    port = call.wiring.server_port if given.port is None else given.port
    call.notice(f"serving the agents of {roots.registry} on {given.host}, port {port}; Ctrl-C stops it")
    argv = servers.command(call.wiring, runtime_root, host=given.host, port=port)
    os.execve(argv[0], argv, dict(call.wiring.environment))
