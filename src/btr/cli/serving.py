"""The command that stays: serve."""

from typing import Annotated

import typer

from btr.cli.options import Device, app
from btr.serving.settings import HOST, PORT, Settings


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is all of this machine's.")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = PORT,
    token: Annotated[
        str | None, typer.Option(envvar="BTR_TOKEN", help="Answer only who knows it; the page asks for it.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A web site that may ask, e.g. https://my.org; repeatable.")
    ] = None,
    max_characters: Annotated[int, typer.Option(min=1, help="Of a text.")] = Settings.characters,
    max_requests: Annotated[
        int, typer.Option(min=1, help="At a time; more are told to come back.")
    ] = Settings.requests,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = Settings.seconds,
    profile: Annotated[str, typer.Option(help="minimal (only what is wrong) or fluency.")] = "minimal",
    threshold: Annotated[float | None, typer.Option(help="How much f must rise; the profile's by default.")] = None,
    candidates: Annotated[int | None, typer.Option(min=1, help="Candidates written; the profile's by default.")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Of them, those that take part; also the profile's.")] = None,
    model: Annotated[str | None, typer.Option(help="The base model; by default, that of btr correct.")] = None,
    reranker: Annotated[str | None, typer.Option(help="none, or as in btr score; by default, as in correct.")] = None,
    device: Device = None,
) -> None:
    """Serve the page, the HTTP API, and what LanguageTool's clients ask for.

    SIGTERM and Ctrl-C finish what is running. The log (JSON lines on standard error) has no word of any text.

    \b
    btr serve
    btr serve --reranker mbr --port 9000
    BTR_TOKEN=secret btr serve --host 0.0.0.0
    """
    import btr

    named = {name: value for name, value in (("model", model), ("reranker", reranker)) if value is not None}
    btr.serve(
        host=host,
        port=port,
        token=token,
        allow_origin=allow_origin or (),
        max_characters=max_characters,
        max_requests=max_requests,
        timeout=timeout,
        ready=lambda address: print(f"btr serves at {address}", flush=True),
        profile=profile,
        threshold=threshold,
        candidates=candidates,
        top=top,
        device=device,
        **named,
    )
