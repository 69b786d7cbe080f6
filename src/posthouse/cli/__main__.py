"""`python -m posthouse.cli`: the command line without its script."""

import sys

from posthouse.cli.main import main

sys.exit(main())
