"""`tavernkit scripted-provider`: a server for models that follows a script."""

from __future__ import annotations

from typing import Annotated

import typer

from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import JsonOption, emit


def serve_scripted_provider(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8421,
    delay: Annotated[float, typer.Option(min=0, max=60, help="Seconds before each word.")] = 0.02,
    as_json: JsonOption = False,
) -> None:
    """Serve a model that says what it is told to, for tests and demonstrations.

    It speaks the protocols of OpenAI, Anthropic and Gemini on this machine until it is stopped. The last user message
    or the name of the model says how it answers, and how it fails.
    """
    try:
        from tavernkit.playground.base.llm.scripted_server import serve_scripted
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The application is not installed ({error.name} is missing): pip install 'tavernkit[playground]'."
        ) from error

    def ready(address: str) -> None:
        addresses = {
            "openai": f"{address}/v1",
            "openai_text": f"{address}/v1",
            "anthropic": f"{address}/v1",
            "google": f"{address}/v1beta",
        }
        if as_json:
            emit({"ready": address, "base_urls": addresses})
        else:
            typer.echo(f"The scripted provider is at {address}/v1, and for Gemini at {address}/v1beta")

    try:
        serve_scripted(port, delay, ready)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise UsageError(f"The port {port} cannot be used ({reason}). Choose another one with --port.") from error
