"""`gpuport hipify`: the translator's own command line, which needs the standard library only."""

import click


@click.command(
    "hipify",
    short_help="Translate CUDA sources for AMD or for the CPU.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    from gpuport.translate.cli import main

    ctx.exit(main(ctx.args))
