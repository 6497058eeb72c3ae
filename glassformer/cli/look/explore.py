from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.base.errors import ConfigError
from glassformer.bundled.travelling import travelling
from glassformer.cli.look.related import IndexFolder, ProbeFile, StartModel, related
from glassformer.cli.terminal import options
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.options import STDIN, json_option, refuse_given
from glassformer.cli.terminal.outputs import OVERWRITE
from glassformer.cli.terminal.screen import note, record
from glassformer.cli.terminal.texts import texts_to_explain

if TYPE_CHECKING:
    from glassformer.page.server.offers import Offer

_NO_BROWSER = "Print the address of the page without opening a browser."
_PUBLISH = (
    "Write a static site of the given models (by default, all bundled ones) to this folder and open no browser. Any "
    "web server can serve it, and it opens from disk. A page has at most 3 MB unless --megabytes is given.  [default: "
    "none]"
)
_ADDRESS = "With --publish: web address of the site, which link previews need to show its pictures.  [default: none]"


def explore(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] TEXT",
            help=f"One or more texts. {STDIN} With --publish, every argument is a model.  [default: an example]",
            show_default="none; english if only a text is given",
        ),
    ] = None,
    model: options.NamedModel = None,
    pair: options.Pair = None,
    target: options.Target = None,
    choice: options.Choices = None,
    probe: ProbeFile = None,
    index: IndexFolder = None,
    start: StartModel = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Local port; 0 chooses a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help=_NO_BROWSER)] = False,
    publish: Annotated[Path | None, typer.Option("--publish", metavar="FOLDER", help=_PUBLISH)] = None,
    address: Annotated[str | None, typer.Option("--address", metavar="URL", help=_ADDRESS)] = None,
    language: options.PageLanguage = "en",
    megabytes: options.Megabytes = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    json: Annotated[bool, json_option("The record has the address of the page, and no browser is opened.")] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Open a page in the browser that traces every number of a model back to its inputs. With neither a model nor
    a text, the page lists your runs, the models opened before and the bundled models. The page is served only to this
    machine (localhost), at the printed address. Ctrl-C stops the server.
    """
    from glassformer.runtime.threads import use_threads

    if publish is not None:
        lone = {"pair": pair, "target": target, "choice": choice, "probe": probe, "index": index, "start": start}
        refuse_given(lone, "{} belongs to one page", got="a site", do="leave it out, or use explain --html")
        from glassformer.page.site.publish import MEGABYTES
        from glassformer.page.site.publish import publish as write_site

        use_threads(threads)
        models = dict.fromkeys([*([model] if model is not None else []), *(text or ())])
        site = [_offer(name, [], None, None, None) for name in models] or _offers()
        page = write_site(
            publish, site, megabytes=megabytes or MEGABYTES, device=device, address=address or "", language=language,
            overwrite=overwrite, tell=note,
        )  # fmt: skip
        size = sum(file.stat().st_size for file in page.parent.iterdir() if file.is_file())
        if json:
            record({"home": str(page), "bytes": size, "models": [offer.name for offer in site]}, sys.stdout)
            return
        print(page, flush=True)
        note(f"{size / 1e6:.1f} MB; {page} opens in any browser")
        return
    other = None if language == "en" else language
    of_site = {"address": address, "language": other, "megabytes": megabytes, "overwrite": overwrite}
    refuse_given(of_site, "{} is for a site", got="no site", do="add --publish FOLDER")
    from glassformer.run.serving.listening import check_installed

    check_installed()
    from glassformer.base.settings import read_settings
    from glassformer.page.server.asked import Asked
    from glassformer.page.server.home import own_offers
    from glassformer.page.server.start import serve

    use_threads(threads)
    offers, home = _offers(first="slides"), "home"
    asks_sections = (probe, index, start) != (None, None, None)
    if text or model is not None:
        which, texts = split_model("explore", text, model)
        first = _offer(which, list(texts_to_explain(texts)) if texts else [], pair, target, choice)
        if asks_sections:  # the model is opened for its sections, and stays open
            own = Machine(device).open(str(first.place))
            first = replace(first, makers=related(own, probe, index, start), model=own)
        offers = [first, *(offer for offer in offers if offer.name != first.name)]
        home = ""
    elif pair is not None or target is not None or choice:
        raise ConfigError("a second text and candidates belong to a text", got="none", do="give the text too")
    elif asks_sections:
        raise ConfigError("--probe, --index and --start belong to a model", got="none", do="name the model too")
    first = offers[0]
    offers += own_offers({offer.name: offer for offer in offers})
    wish = {"model": first.name, "texts": first.texts, "seconds": first.seconds, "choices": first.choices}

    def opened(address: str) -> None:
        address += home
        if json:
            record({"address": address, "model": first.name, "texts": first.texts}, sys.stdout)
            return
        print(address, flush=True)
        note(f"{'all models' if home else f'the page of {first.name}'}, for this machine only; Ctrl-C stops it")

    serve(
        offers, read_settings(Asked, wish, where="the text"), port=port, device=device, announce=opened, home=home,
        browser=not no_browser and not json,
    )  # fmt: skip


def _offers(*, first: str = "") -> list[Offer]:
    from glassformer.page.server.offers import offer_of
    from glassformer.page.site.examples import in_order

    return [offer_of(name) for name in sorted(in_order(travelling()), key=lambda name: name != first)]


def _offer(which: str, texts: list[str], pair: str | None, target: str | None, choices: list[str] | None) -> Offer:
    from glassformer.page.server.offers import offer_of

    if pair is not None and target is not None:
        raise ConfigError("a text has one second text", got="--pair and --target", do="leave one of them out")
    return offer_of(which, texts, pair if target is None else target, choices, group="own")
