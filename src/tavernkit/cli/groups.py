"""What all groups of commands share."""

from __future__ import annotations

import typer

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


def show_help(ctx: typer.Context) -> None:
    """Answer a group that was named without a command."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def command_group(name: str, help: str) -> typer.Typer:
    """A group such as `tavernkit card …`."""
    return typer.Typer(
        name=name,
        help=help,
        callback=show_help,
        invoke_without_command=True,
        context_settings=HELP_OPTIONS,
        rich_markup_mode=None,
    )
