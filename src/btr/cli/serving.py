"""The long-running command: serve."""

from typing import Annotated

import typer

from btr.cli.options import (
    AtLeast,
    Average,
    Base,
    BaseEditsOnly,
    Cutoff,
    Device,
    Dictionary,
    DropRunaways,
    Gap,
    Judge,
    Profile,
    Reranker,
    Spelling,
    Threshold,
    Top,
    Weight,
    Written,
    app,
    parse_weights,
)
from btr.correction import DEFAULT_MODEL, DEFAULT_PROFILE
from btr.serving.limits import HOST, PORT, Limits


@app.command(context_settings={"auto_envvar_prefix": "BTR"})  # --max-requests is also BTR_MAX_REQUESTS
def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen at; 0.0.0.0 for all addresses of this machine.")
    ] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any free one.")] = PORT,
    token: Annotated[str | None, typer.Option(help="A password that clients must send; the page asks for it.")] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A web site that may send requests, e.g. https://my.org; repeatable."),
    ] = None,
    max_characters: Annotated[
        int, typer.Option(min=1, help="The longest text that a request may have.")
    ] = Limits.max_characters,
    max_requests: Annotated[
        int, typer.Option(min=1, help="How many requests may run or wait; others are answered with 503.")
    ] = Limits.max_requests,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = Limits.timeout,
    profile: Profile = DEFAULT_PROFILE,
    threshold: Threshold = None,
    candidates: Written = None,
    top: Top = None,
    at_least: AtLeast = None,
    gap: Gap = None,
    drop_runaways: DropRunaways = None,
    average: Average = None,
    weight: Weight = None,
    cutoff: Cutoff = None,
    judge: Judge = None,
    base_edits_only: BaseEditsOnly = None,
    spelling: Spelling = None,
    dictionary: Dictionary = None,
    model: Base = DEFAULT_MODEL,
    reranker: Reranker = None,
    device: Device = None,
) -> None:
    """Serve a web page, an HTTP API, and the protocol of LanguageTool.

    SIGTERM and Ctrl-C stop the server after the running requests. The log (JSON lines on standard error) has no word
    of any text. Each option can also be given by the environment: BTR_PORT for --port.

    \b
    btr serve
    btr serve --reranker mbr --port 9000
    BTR_TOKEN=secret btr serve --host 0.0.0.0
    """
    import btr
    from btr.correction.correct import import_corrector

    btr.serve(
        lambda: import_corrector().from_pretrained(
            model,
            reranker or None,
            profile=profile,
            candidates=candidates,
            top=top,
            threshold=threshold,
            at_least=at_least,
            gap=gap,
            drop_runaways=drop_runaways,
            average=average,
            weights=parse_weights(weight),
            judge=judge,
            cutoff=cutoff,
            base_edits_only=base_edits_only,
            spelling=spelling,
            dictionary=dictionary,
            device=device,
        ),
        host=host,
        port=port,
        token=token,
        allow_origin=allow_origin or (),
        max_characters=max_characters,
        max_requests=max_requests,
        timeout=timeout,
        on_ready=lambda address: print(f"btr serves at {address}", flush=True),
    )
