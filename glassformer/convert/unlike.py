"""What other programs do with a folder of Hugging Face that glassformer does not do."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from glassformer.base.json_text import read_json
from glassformer.config.model import Pooling

# What sentence-transformers calls a pooling, and what it is called here.
_POOLINGS: dict[str, Pooling] = {"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last-token"}
_POOLINGS |= {"cls_token": "first", "mean_tokens": "mean", "max_tokens": "max"}


def unlike_others(folder: Path, of_search: Mapping[str, str]) -> Iterator[str]:
    """What other programs do with a folder that is not done here: settings of generation, an adapter."""
    for name, reason in of_search.items():
        yield f"{name} in generation_config.json is not applied: {reason}; transformers may write other texts"
    if (folder / "adapter_config.json").is_file():
        yield "the adapter of adapter_config.json is not applied: merge it into the weights first"


def pooling_of(folder: Path) -> tuple[Pooling, tuple[str, ...]]:
    """How sentence-transformers pools the vectors of this model, the mean where it is not known, and a note on each
    thing that it does to them and that is not done here.
    """
    if not (path := folder / "modules.json").is_file():
        return "mean", ()
    try:
        kinds = {str(each["type"]).rpartition(".")[2][:40]: Path(str(each["path"])) for each in read_json(path)}
        pooling = kinds.get("Pooling")
        said = {} if pooling is None else _read_within(folder, pooling / "config.json")
        modes = [name for name, is_on in said.items() if name.startswith("pooling_mode_") and is_on is True]
        asked = said.get("pooling_mode") or " and ".join(name.removeprefix("pooling_mode_") for name in modes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "mean", ("modules.json of sentence-transformers cannot be read: vectors are pooled by their mean",)
    notes = [*_prompts(folder)]
    if asked and str(asked) not in _POOLINGS:
        theirs = repr(str(asked)[:40])
        notes.append(f"sentence-transformers pools the vectors of this model by {theirs}, here their mean is taken")
    if more := sorted(kinds.keys() - {"Transformer", "Pooling", "Normalize"}):
        notes.append(f"modules of sentence-transformers are not applied to vectors: {', '.join(map(repr, more[:5]))}")
    return _POOLINGS.get(str(asked), "mean"), tuple(notes)


def _read_within(folder: Path, file: Path) -> dict[str, Any]:
    """A JSON file of the folder, by its name there; raises ValueError for a pipe, and for a file elsewhere."""
    if ".." in file.parts or file.is_absolute() or not (folder / file).is_file():
        raise ValueError(file)
    return read_json(folder / file)


def _prompts(folder: Path) -> Iterator[str]:
    """A note where sentence-transformers puts a prompt before each text."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        said = _read_within(folder, Path("config_sentence_transformers.json"))
        name = said.get("default_prompt_name")
        if name is not None and said.get("prompts", {}).get(name):
            yield f"sentence-transformers puts the prompt {str(name)[:40]!r} before each text: put it there yourself"
