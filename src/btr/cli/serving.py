"""The command that stays: serve."""

from typing import Annotated

import typer

from btr.cli.options import Base, Device, Profile, Reranker, Threshold, Top, Written, app
from btr.correction import DEFAULT_MODEL, DEFAULT_RERANKERS
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
    profile: Profile = "minimal",
    threshold: Threshold = None,
    candidates: Written = None,
    top: Top = None,
    model: Base = DEFAULT_MODEL,
    reranker: Reranker = None,
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
        model=model,
        reranker=reranker or DEFAULT_RERANKERS,
        device=device,
    )
