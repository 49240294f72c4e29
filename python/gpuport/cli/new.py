"""`gpuport new`: a package of kernels to start from."""

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import click


@click.command("new", short_help="Write a package of kernels that builds and passes its test.")
@click.argument("folder", metavar="NAME")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(folder: str, as_json: bool) -> None:
    """Writes the package NAME to a folder of that name, here or where a path says: a kernel with
    its Python function, a spec, a test, a README and a CI file, built by `find_package(gpuport)`.

    Example: gpuport new mykernels && pip install ./mykernels && pytest mykernels

    Exit code 0: it is written. 2: the name is none of a package, there is something of that name
    already, or a file cannot be written.
    """
    from gpuport.packages.new import write_package

    home = Path(os.path.abspath(folder)) if folder else Path()
    try:
        written = write_package(home)
    except FileExistsError as error:
        _fail(str(error), as_json)
    except OSError as error:
        _fail(f"cannot write {error.filename}: {error.strerror}", as_json)
    except ValueError as error:
        _fail(str(error), as_json)
    names = [str(path.relative_to(home)) for path in written]
    if as_json:
        click.echo(json.dumps({"name": home.name, "folder": str(home), "files": names}, indent=2))
        return
    for name in names:
        click.echo(f"{folder.rstrip('/')}/{name}")
    place = folder if os.path.isabs(folder) else os.path.join(".", folder)
    click.echo(f"\nNow: pip install {place} && pytest {folder}")


def _fail(reason: str, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(json.dumps({"error": reason}, indent=2))
    else:
        click.echo(f"error: {reason}", err=True)
    sys.exit(2)
