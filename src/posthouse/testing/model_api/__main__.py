"""`python -m posthouse.testing.model_api`: the model API as a process; its first line says where it is."""

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path

from posthouse.testing.model_api.server import serve


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.testing.model_api", description="A scripted model API on loopback."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8140, help="0 picks a free one")
    parser.add_argument("--log", type=Path, help="append one JSON line per model call")
    parser.add_argument("--verbose", action="store_true", help="name every request on stderr")
    chosen = parser.parse_args()
    api = serve(chosen.host, chosen.port, log=chosen.log, is_verbose=chosen.verbose)
    sys.stdout.write(json.dumps({"base_url": api.base_url}) + "\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        api.serve_forever()
    api.close()


if __name__ == "__main__":
    main()
