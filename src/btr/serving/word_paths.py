"""The personal dictionary of the server, as clients of LanguageTool read and change it."""

from collections.abc import Callable

from fastapi import FastAPI, Request

from btr.corpus.files import PathLike
from btr.correction.dictionary import add_word, read_dictionary, remove_word
from btr.errors import InputError
from btr.serving.errors import RequestError
from btr.serving.forms import read_fields
from btr.serving.service import Service, run_in

PAGE_SIZE = 10  # words of an answer, as LanguageTool's

Change = Callable[[PathLike, str], bool]  # whether it changed anything


def add_words(api: FastAPI, service: Service) -> None:
    """Add the paths."""

    @api.get("/v2/words", tags=["LanguageTool"])
    async def words(offset: int = 0, limit: int = PAGE_SIZE) -> dict[str, list[str]]:
        """List words of the personal dictionary, in the order of the alphabet."""
        check_access(service)
        every = sorted(service.corrector.dictionary.words, key=str.lower)
        return {"words": every[max(0, offset) :][: max(0, limit)]}

    @api.post("/v2/words/add", tags=["LanguageTool"])
    async def add(request: Request) -> dict[str, bool]:
        """Add a word to the personal dictionary (field `word`)."""
        return {"added": await change_dictionary(service, request, add_word)}

    @api.post("/v2/words/delete", tags=["LanguageTool"])
    async def delete(request: Request) -> dict[str, bool]:
        """Remove a word from the personal dictionary (field `word`)."""
        return {"deleted": await change_dictionary(service, request, remove_word)}


def check_access(service: Service) -> None:
    """Refuse strangers: where other machines reach the server, its dictionary needs the token."""
    if service.limits.token is None and not service.limits.is_loopback:
        raise RequestError(
            403,
            "other machines reach this server, so its dictionary needs a token; see --token.",
        )


async def change_dictionary(service: Service, request: Request, change: Change) -> bool:
    """Change the file of words, and read it anew."""
    path = service.corrector.dictionary.path
    if path is None:
        raise RequestError(404, "this server has no personal dictionary; start it with --dictionary FILE.")
    check_access(service)
    word = (await read_fields(request)).get("word")
    if word is None:
        raise RequestError(422, "word: Field required.")
    try:
        changed = await run_in(service.files, change, path, word)
        if path.exists():
            service.corrector.dictionary = await run_in(service.files, read_dictionary, path)
    except InputError as error:
        raise RequestError(422, str(error)) from None
    return changed
