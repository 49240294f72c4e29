"""`python -m translate` (from the source tree) and `python -m gpuport.translate`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
