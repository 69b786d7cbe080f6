#!/usr/bin/env python3
"""Take the mailbox of an address out of use, or away.

    python3 deregister_mailbox.py --mailbox-root DIR --payload-file FILE

Prints one line of JSON: {"ok": true, …}, or {"ok": false, "error": …} and exits 1. Needs Python 3.11 alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))
sys.dont_write_bytecode = True

from posthouse.mailbox.filesystem import payloads  # noqa: E402 - found in lib, beside this file

if __name__ == "__main__":
    sys.exit(payloads.main(payloads.deregister))
