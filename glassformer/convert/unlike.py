"""What other programs do with a folder of Hugging Face that glassformer does not do."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from glassformer.base.json_text import read_json

# What sentence-transformers calls a pooling, and what it is called here.
_POOLINGS = {"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last-token"}
_POOLINGS |= {"cls_token": "first", "mean_tokens": "mean", "max_tokens": "max"}


def unlike_others(folder: Path, of_search: Mapping[str, str]) -> Iterator[str]:
    """What other programs do with a folder that is not done here: settings of generation, modules of
    sentence-transformers, an adapter.
    """
    for name, reason in of_search.items():
        yield f"{name} in generation_config.json is not applied: {reason}; transformers may write other texts"
    if (folder / "adapter_config.json").is_file():
        yield "the adapter of adapter_config.json is not applied: merge it into the weights first"
    if not (path := folder / "modules.json").is_file():
        return
    try:
        kinds = {str(each["type"]).rpartition(".")[2][:40]: folder / str(each["path"]) for each in read_json(path)}
        pooling = kinds.get("Pooling")
        said = {} if pooling is None else read_json(pooling / "config.json")
        modes = [name for name, is_on in said.items() if name.startswith("pooling_mode_") and is_on is True]
        asked = said.get("pooling_mode") or " and ".join(name.removeprefix("pooling_mode_") for name in modes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        yield "modules.json of sentence-transformers cannot be read: vectors are pooled by their mean"
        return
    if asked and (ours := _POOLINGS.get(str(asked))) != "mean":
        do = f"name it: --pooling {ours}, in Python pooling={ours!r}" if ours else "there is no such pooling here"
        theirs = repr(str(asked)[:40])
        yield f"sentence-transformers pools the vectors of this model by {theirs}, here the default is the mean; {do}"
    if more := sorted(kinds.keys() - {"Transformer", "Pooling", "Normalize"}):
        yield f"modules of sentence-transformers are not applied to vectors: {', '.join(map(repr, more[:5]))}"
