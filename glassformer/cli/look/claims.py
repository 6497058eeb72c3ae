import json as as_json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.base.errors import ConfigError
from glassformer.bundled.claims import Claim, known_claim, known_claims, recorded
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.options import Json, Out
from glassformer.cli.terminal.screen import console, escaped, plain_table, record, results

def claims(
    name: Annotated[
        str | None, typer.Argument(metavar="[CLAIM]", help="A claim to show, X-1 to X-20.  [default: list all]")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Train and measure the claim again, and judge it by its rule.")
    ] = False,
    runs: Annotated[
        Path, typer.Option("--runs", help="Folder of the trainings: those that are finished are not repeated.")
    ] = Path("runs/claims"),
    out: Out = None,
    json: Json = False,
) -> None:
    """List what the source documents claim, with the verdicts of docs/claims.md; show one claim with its rule and
    figures; or measure it again with --run. The data sets are in the folder that GLASSFORMER_DATA names.
    """
    if name is None:
        if run or out is not None:
            raise ConfigError("one claim is run at a time", got="no claim", do="name one: glassformer claims X-4 --run")
        _list(json=json)
        return
    its = known_claim(name)
    with results(out) as handle:
        if run:
            from glassformer.run.claims import run_claim

            found: Mapping[str, Any] = run_claim(its, runs)
        else:
            found = recorded().get(name, {})
        if json and out is None:
            record({**_facts(its), **found}, handle)
        elif out is not None:
            print(as_json.dumps({**_facts(its), **found}, indent=2, ensure_ascii=False, allow_nan=False), file=handle)
    if not json:
        _show(its, found)


def _facts(its: Claim) -> dict[str, str]:
    return {"id": its.id, "title": its.title, "document": its.document, "claim": its.claim, "rule": its.rule}


def _list(*, json: bool) -> None:
    if json:
        for its in known_claims().values():
            record({**_facts(its), **recorded().get(its.id, {}), "runs_here": bool(its.stages)}, sys.stdout)
        return
    table = plain_table("", "claim", "verdict", "seeds", "date", right=slice(3, 4))
    for its in known_claims().values():
        known = recorded().get(its.id, {})
        star = "" if its.stages else " *"
        words = [str(known.get(key, "")) for key in ("verdict", "seeds", "date")]
        table.add_row(its.id, escaped(its.title) + star, *words)
    screen = console()
    print_table(screen, table)
    screen.print("* run by the code of a checkout: glassformer claims X-1 says which")


def _show(its: Claim, found: Mapping[str, Any]) -> None:
    from glassformer.scoring.verdict import difference, shown

    screen = console()
    screen.print(escaped(f"{its.id} {its.title} (the {its.document})"))
    for name, text in (("claim", its.claim), ("rule", its.rule), ("run", its.elsewhere), ("found", found.get("sentence"))):
        if text:
            screen.print(escaped(f"{name}: {text}"))
    if scores := found.get("scores"):
        table = plain_table("test", "arm", "score", "mean", "of each seed", right=slice(3, 5))
        for each in scores:
            values = ", ".join(shown(each["score"], value) for value in each["of_seeds"])
            table.add_row(each["test"], each["arm"], each["score"], shown(each["score"], each["mean"]), values)
        print_table(screen, table)
    if questions := found.get("questions"):
        table = plain_table("test", "arm", "compared with", "difference", "is", "expected", right=slice(3, 4))
        for each in questions:
            write = shown if each["against"].startswith("at least") else difference
            value, low, high = (write(each["score"], each[name]) for name in ("value", "low", "high"))
            words = each["found"], each["expected"]
            table.add_row(each["test"], each["of"], each["against"], f"{value} ({low} … {high})", *words)
        print_table(screen, table)
    if "verdict" in found:
        screen.print(escaped(f"verdict: {found['verdict']} ({found['seeds']} seeds, {found['date']})"))
