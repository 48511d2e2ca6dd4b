"""All commands in one place, and the entry point."""

from __future__ import annotations

from typing import Annotated

import typer

from tavernkit.cli import (
    bench,
    build,
    card,
    chat,
    conformance,
    diff,
    explain,
    exporting,
    extensions,
    importing,
    lore,
    playground,
    preset,
    prompt,
    replay,
    tokens,
    what_if,
)
from tavernkit.cli.errors import ErrorReporting
from tavernkit.cli.groups import HELP_OPTIONS, show_help

EXIT_CODES = """\b
Exit codes:
  0  done
  1  a check failed: a broken file in validate, a failed case in
     conformance, a prompt that is too large or that --strict refuses
  2  an unknown command or option, or a file that cannot be read or written
  3  a card or file of a version that is not supported
"""

app = typer.Typer(
    name="tavernkit",
    cls=ErrorReporting,
    help="Serve the application; read, convert and check cards, lorebooks and presets, count tokens, build prompts.",
    epilog=EXIT_CODES,
    context_settings=HELP_OPTIONS,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("serve")(playground.serve)
app.command("worker")(playground.worker)
app.command("scripted-provider")(playground.serve_scripted_provider)
app.add_typer(playground.database)
app.add_typer(playground.accounts)
app.command("import")(importing.import_folder)
app.command("export")(exporting.export_folder)
app.add_typer(card.app)
app.add_typer(lore.app)
app.add_typer(preset.app)
app.add_typer(chat.app)
app.command("tokens")(tokens.count)
app.command("prompt")(prompt.build_prompt)
app.command("build")(build.build_request)
app.command("explain")(explain.explain_request)
app.command("diff")(diff.compare_requests)
app.command("replay")(replay.replay_run)
app.command("what-if")(what_if.try_change)
app.command("extensions")(extensions.list_extensions)
app.command("conformance")(conformance.replay)
app.command("bench")(bench.measure)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tavernkit {installed('tavernkit')}")
        raise typer.Exit
    if ctx.invoked_subcommand in extensions.USED_BY:
        extensions.use_extensions()
    show_help(ctx)


def main() -> None:
    """Run the command that the process was started with, and exit with its code."""
    app(prog_name="tavernkit")
