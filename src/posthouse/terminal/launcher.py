"""The first process in a TUI's pane: `python -I -S launcher.py VARIABLES-FILE PROGRAM [ARGUMENT…]`.

It replaces itself by the program. Isolated and without site packages, so that the agent's environment and
working directory cannot change what runs here. The work is in `variable_files`, which Python caches compiled.
"""

import os.path
import sys

if __name__ == "__main__":
    # Plain string paths, hence the noqa: pathlib would be loaded before the package is found.
    package_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.path.insert(0, package_root)

    from posthouse.terminal.variable_files import exec_program

    sys.exit(exec_program(sys.argv[1], sys.argv[2:]))
