"""`gpuport lint`: the lint's own command line, which needs the standard library only."""

import click


@click.command(
    "lint",
    short_help="Faults of warp width and portability in CUDA C++.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    from gpuport.linting.cli import main

    ctx.exit(main(ctx.args))
