"""`gpuport cache`: the modules that `gpuport.load` has compiled."""

import json
import sys

import click

from gpuport.loading import cache


def _megabytes(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f} MB"


@click.group("cache", short_help="The cache of compiled modules.")
def command() -> None:
    """What `gpuport.load` has compiled, by source, headers, options, architecture and toolchain.

    It lies in GPUPORT_CACHE_DIR, or in the user's cache folder.

    \b
    Example: gpuport cache info --json
    """


@command.command("info")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def info(as_json: bool) -> None:
    """Where the cache is, how many modules it holds and how large they are.

    \b
    Example: gpuport cache info --json

    Exit code 0, whatever it holds.
    """
    found = cache.info()
    if as_json:
        click.echo(
            json.dumps(
                {
                    "folder": str(found.folder),
                    "modules": found.entries,
                    "bytes": found.nbytes,
                    "unfinished": found.unfinished,
                },
                indent=2,
            )
        )
        return
    click.echo(f"folder      {found.folder}")
    click.echo(f"modules     {found.entries}, {_megabytes(found.nbytes)}")
    click.echo(f"unfinished  {found.unfinished} compilations under way or killed")


@command.command("clear")
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), default=0.0, help="Only these, in days."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def clear(days: float, as_json: bool) -> None:
    """Remove compiled modules. Processes that use them go on; compilations under way stay.

    \b
    Example: gpuport cache clear --older-than 30

    Exit code 0: what was asked for is gone. 1: a part of it could not be removed.
    """
    gone = cache.clear(days * 86400)
    left = cache.info().entries if days == 0 else 0
    if as_json:
        click.echo(
            json.dumps(
                {"modules": gone.entries, "bytes": gone.nbytes, "unfinished": gone.unfinished},
                indent=2,
            )
        )
    else:
        click.echo(f"removed {gone.entries} modules, {_megabytes(gone.nbytes)}")
    if left and not gone.entries:
        click.echo(f"error: {left} modules in {gone.folder} cannot be removed", err=True)
        sys.exit(1)
