from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.base.errors import ConfigError
from glassformer.bundled.claims import Claim, known_claim, known_claims, recorded
from glassformer.cli.terminal.options import Json, Out
from glassformer.cli.terminal.screen import console, escaped, print_table, record, results

_RUNS = Path("runs/claims")
_NAME = "The claim to show, X-1 to X-20.  [default: list all claims]"
_RUN = "Train the models of the claim again, measure them and give a new verdict."


def claims(
    name: Annotated[str | None, typer.Argument(metavar="CLAIM", help=_NAME)] = None,
    run: Annotated[bool, typer.Option("--run", help=_RUN)] = False,
    runs_folder: Annotated[
        Path,
        typer.Option("--runs-folder", metavar="FOLDER", help="Folder for the training runs; finished runs are reused."),
    ] = _RUNS,
    out: Out = None,
    json: Json = False,
) -> None:
    """List claims of four tutorials with the verdicts of docs/measured/claims.md. The tutorials are the slides "Masked
    language modeling visualized", the lecture notes "Transformers and BERT", the blog post "How the Multi words mask
    matrix was build [sic] with an example" and the "Illustrated Guide to Transformers". With CLAIM, show how its
    verdict was decided and on which measurements. --run needs data sets in the folder $GLASSFORMER_DATA and says
    which are missing.
    """
    if name is None:
        if run:
            raise ConfigError("one claim is run at a time", got="no claim", do="name one: glassformer claims X-4 --run")
        with results(out) as handle:
            if json or out is not None:
                for its in known_claims().values():
                    record({**_facts(its), **recorded()[its.id], "runs_here": bool(its.stages)}, handle)
        if not json:
            _list()
        return
    its = known_claim(name)
    if not run and runs_folder != _RUNS:
        raise ConfigError("--runs-folder is for a claim that is run", got=str(runs_folder), do="add --run")
    with results(out) as handle:
        if run:
            from glassformer.run.claims import run_claim

            found: Mapping[str, Any] = run_claim(its, runs_folder)
        else:
            found = recorded()[its.id]
        if json or out is not None:
            record({**_facts(its), **found}, handle)
    if not json:
        _show(its, found)


def _facts(its: Claim) -> dict[str, str]:
    return its.model_dump(include={"id", "title", "document", "claim", "rule"})


def _list() -> None:
    rows = []
    for its in known_claims().values():
        known = recorded()[its.id]
        star = "" if its.stages else " *"
        words = [known[key] for key in ("verdict", "rests_on", "date")]
        rows.append((its.id, escaped(its.title) + star, *words))
    screen = console()
    print_table(screen, ("", "claim", "verdict", "rests on", "date"), rows)
    screen.print("* run by the code of a checkout: glassformer claims X-9 says which")


def _show(its: Claim, found: Mapping[str, Any]) -> None:
    screen = console()
    screen.print(escaped(f"{its.id} {its.title} (the {its.document})"))
    facts = {"claim": its.claim, "rule": its.rule, "run": its.elsewhere, "remark": its.remark}
    for name, text in {**facts, "found": found.get("sentence")}.items():
        if text:
            screen.print(escaped(f"{name}: {text}"))
    if "scores" in found:
        for head, rows in (scores_table(found), answers_table(found)):
            print_table(screen, head, [[*map(escaped, row)] for row in rows])
    if "verdict" in found:
        rests = found.get("rests_on", f"{found.get('seeds')} seeds")
        screen.print(escaped(f"verdict: {found['verdict']} ({rests}, {found['date']})"))


# Scores that are written without decimals; a speed is tokens, or bytes, a second.
COUNTS = ("steps", "speed")


def scores_table(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A head, and a row of each arm: the mean over the seeds of each test, with the least and the greatest."""
    tests = {each["test"]: each["score"] for each in found["scores"]}
    arms: dict[str, dict[str, str]] = {}
    for each in found["scores"]:
        values = each["mean"], min(each["of_seeds"]), max(each["of_seeds"])
        arms.setdefault(each["arm"], {})[each["test"]] = _interval(each["score"], values, _value)
    head = ["arm", *(test if score in test else f"{test}: {score}" for test, score in tests.items())]
    return head, [[arm, *(its.get(test, "") for test in tests)] for arm, its in arms.items()]


def answers_table(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A head, and a row of each question: the mean difference of two arms with its 95 % interval, and what it says."""
    rows = []
    for each in found["questions"]:
        alone = each["against"].startswith("at ")
        values = each["value"], each["low"], each["high"]
        cell = _interval(each["score"], values, _value if alone else _difference)
        arms = f"{each['of']}: {each['against']}" if alone else f"{each['of']} − {each['against']}"
        rows.append([arms, each["test"], cell, each["found"], each["expected"]])
    return ["arms", "in", "difference", "is", "expected"], rows


def _interval(score: str, values: Sequence[float], write: Callable[[str, float], str]) -> str:
    value, low, high = (write(score, each) for each in values)
    return f"{value} ({low} … {high})"


def _value(score: str, value: float) -> str:
    from glassformer.scoring.verdict import shown  # not at the top: --help must not import numpy

    if score == "change":
        return f"{value:.1e}"
    return f"{value:,.0f}" if score in COUNTS else shown(score, value)


def _difference(score: str, value: float) -> str:
    from glassformer.scoring.verdict import difference

    return f"{value:+,.0f}" if score in COUNTS else difference(score, value)
