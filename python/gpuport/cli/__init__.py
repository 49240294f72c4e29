"""The command line. Each command is a module of its own, imported only when it is asked for.

Exit codes: 0 everything asked for holds, 1 a check failed, 2 the request itself cannot be met,
or the output not be written. A pipe that is closed early changes nothing.
"""

from importlib import import_module
from typing import Any, Final

import click

from gpuport.cli.output import guarded_stdout

COMMANDS: Final = {
    "info": "gpuport.cli.info",
    "check": "gpuport.cli.check",
    "bench": "gpuport.cli.bench",
    "compare": "gpuport.cli.compare",
    "traffic": "gpuport.cli.traffic",
    "hipify": "gpuport.cli.hipify",
    "lint": "gpuport.linting.command",
    "inspect": "gpuport.inspection.command",
    "new": "gpuport.cli.new",
    "build": "gpuport.cli.build",
    "cache": "gpuport.cli.cache",
}


class _LazyGroup(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        with guarded_stdout():
            return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"gpuport {version('gpuport')}")
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """CUDA kernels on NVIDIA, on AMD and on a plain CPU.

    \b
    Example: gpuport check --backend cpu --quick

    Exit codes: 0 everything asked for holds, 1 a check failed, 2 the request cannot be met.
    """
