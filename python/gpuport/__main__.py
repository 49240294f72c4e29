"""`python -m gpuport`: the command line."""

from gpuport.cli import main

if __name__ == "__main__":
    main(prog_name="python -m gpuport")
