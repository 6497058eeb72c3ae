"""The one place that touches the network, and only when it is asked to."""

import re
from pathlib import Path

from glassformer.base.errors import CheckpointError, MissingExtraError

# Weights as safetensors, settings, tokenizers; never pickles, never code.
WANTED = (
    "*.safetensors",
    "model.safetensors.index.json",
    "*.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
    "*.spm",
    "*.jinja",
)

# What the hub allows; a name without its owner is one of the first models there.
_ID = re.compile(r"(\w[\w.-]{0,95}/)?\w[\w.-]{0,95}", re.ASCII)


def fetch(hub_id: str) -> Path:
    """Download a model of the Hugging Face hub (`owner/name`) and give back its folder. Raises MissingExtraError
    without huggingface_hub, CheckpointError when the id is none, and when the hub cannot be reached or lacks the model.
    """
    if not _ID.fullmatch(hub_id) or ".." in hub_id or "--" in hub_id:
        raise CheckpointError("a model of the hub is written hub:owner/name", got=repr(f"hub:{hub_id}"))
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise MissingExtraError("huggingface_hub", extra="hub") from None
    # Its error of HTTP is one of the library that it asks with, whose other errors it lets through.
    errors = (LocalEntryNotFoundError, HFValidationError, OSError, *HfHubHTTPError.__bases__)
    try:
        return Path(snapshot_download(hub_id, allow_patterns=list(WANTED)))
    except errors as error:
        raise CheckpointError(
            f"the hub must be reached to fetch {hub_id}",
            got=f"{type(error).__name__}: {next(iter(str(error).splitlines()), 'no more is known')}",
            do="check the id and the network, or give a folder on this machine",
        ) from None
