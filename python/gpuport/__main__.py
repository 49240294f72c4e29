"""`python -m gpuport`: the command line, and where the files for other builds are."""

import sys

from gpuport.cli import main

if __name__ == "__main__":
    if sys.argv[1:] in (["--cmake-dir"], ["--include-dir"]):
        from gpuport.packages import show_folder

        sys.exit(show_folder(sys.argv[1]))
    main(prog_name="python -m gpuport")
