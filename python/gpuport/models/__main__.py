"""`python -m gpuport.models`: the checks of the models."""

from gpuport.models import run_checks

run_checks()
