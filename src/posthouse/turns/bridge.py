"""The program in the agent's pane: `python -I -S bridge.py TURN-FOLDER [VARIABLES-FILE]`.

Isolated and without site packages, so that nothing in the agent's environment or working directory can
change what runs here. All the work is in `execution`, which Python caches compiled.
"""

import os.path
import sys

if __name__ == "__main__":
    # Plain string paths, hence the noqa: pathlib would be loaded before the package is found.
    package_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.path.insert(0, package_root)

    from posthouse.turns.execution import main

    sys.exit(main(sys.argv[1:]))
