"""`python -m linting` (from the source tree) and `python -m gpuport.linting`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
