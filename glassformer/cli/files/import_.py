import sys
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.terminal.options import Json
from glassformer.cli.terminal.screen import note, record

_SOURCE = "A Hugging Face folder, or hub:owner/name."


def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE, show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.", show_default=False)],
    json: Json = False,
) -> None:
    """Convert a Hugging Face folder (config.json, safetensors, tokenizer) to a glassformer folder. The supported
    families are BERT, DistilBERT, RoBERTa, ModernBERT, GPT-2, Llama (also Mistral and Qwen2), Marian, BART and T5. The
    weights are copied bit for bit. Tensors and settings that glassformer does not use are reported.
    """
    from glassformer.api.model import Model
    from glassformer.run.card import write_card
    from glassformer.saved.foreign import read_foreign
    from glassformer.saved.store import FILES, TOKENIZERS, refuse_a_model

    refuse_a_model(out, "an import", (*FILES, *TOKENIZERS))  # before a model is downloaded
    model, report = read_foreign(source, Model)
    model.card = write_card(model, out)
    model.save(out)
    default, aside_of_search = model.search
    used = [] if default is None else sorted(report.generation.keys() - aside_of_search.keys())
    if json:
        record(
            {
                "model": str(out),
                "family": model.config.family,
                "architecture": report.architecture,
                "settings_aside": report.settings_aside,
                "tensors_aside": report.tensors_aside,
                "task": "" if model.task is None else model.task.name,
                "labels": list(report.labels),
                "generation": report.generation,
                "generation_used": used,
                "generation_aside": aside_of_search,
            },
            sys.stdout,
        )
        return
    for what, aside in (("setting", report.settings_aside), ("tensor", report.tensors_aside)):
        for name, reason in aside.items():
            note(f"not used: {what} {name}: {reason}")
    if used:
        note(f"it generates with its own settings {', '.join(used)}; an export keeps them")
    elif report.generation and default is None:
        note(
            f"generation settings kept for an export (the model generates nothing): "
            f"{', '.join(sorted(report.generation))}"
        )
    for name, reason in aside_of_search.items():
        note(f"not used by glassformer's decoding: generation setting {name}: {reason}")
    note(f"{report.architecture or model.config.family} imported: {model}")
    print(out)
