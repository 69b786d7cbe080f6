#!/usr/bin/env python3
"""Make the index of the root again from its messages.

    python3 repair_index.py --mailbox-root DIR --payload-file FILE

Prints one line of JSON: {"ok": true, …}, or {"ok": false, "error": …} and exits 1. Needs Python 3.11 alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))
sys.dont_write_bytecode = True

from posthouse.mailbox.filesystem import payloads  # noqa: E402 - found in lib, beside this file

if __name__ == "__main__":
    sys.exit(payloads.main(payloads.repair_index))
