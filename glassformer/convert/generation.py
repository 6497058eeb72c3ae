"""How Hugging Face searches for a text: `generation_config.json`, or the same words in an older `config.json`.

They travel in and out, so that an exported model generates what the source does; `convert/search_settings.py` makes
of them how we search ourselves.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.convert.family import GENERATION, TOKEN_SETTINGS
from glassformer.convert.files import read_object

GENERATION_FILE = "generation_config.json"
# Tokens with a role in generation, which transformers takes from config.json where there is no file.
_TOKENS = (
    *("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id"),
)
# The name of the library that wrote a file is no setting.
_BOOKKEEPING = ("transformers_version", "_commit_hash")
# An old word for: the first token is forced to be that of the beginning.
_FORCED = "force_bos_token_to_be_generated"


def read_generation(directory: Path, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings of generation, and why those in `config.json` are left aside where they are. As in transformers, the
    file is believed where there is one, else `config.json`. Raises CheckpointError for a file that is damaged.
    """
    said = {key: values[key] for key in GENERATION.keys if values.get(key) is not None}
    if (directory / GENERATION_FILE).is_file():
        found = read_object(directory / GENERATION_FILE)
        kept = {key: value for key, value in found.items() if key not in _BOOKKEEPING}
        return kept, dict.fromkeys(said, f"{GENERATION_FILE} says how to search for a text")
    if not said:
        return {}, {}
    assert set(_TOKENS) <= set(TOKEN_SETTINGS.keys)
    said |= {key: values[key] for key in _TOKENS if values.get(key) is not None}
    if said.pop(_FORCED, False) and "bos_token_id" in said:
        said["forced_bos_token_id"] = said["bos_token_id"]
    return said, {}
