"""What a saved model says of itself in files other than its weights; reading them needs no torch."""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Optional, TypeVar

from pydantic import Field, create_model

from glassformer.base.atomic import current
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import check_seal, file_checksum, read_json
from glassformer.base.pickles import refuse_pickles
from glassformer.base.settings import Settings, read_settings
from glassformer.config import ModelConfig
from glassformer.config.model import Pooling
from glassformer.data.settings import DataSection
from glassformer.saved.described import Described
from glassformer.tasks import data_of, section_of
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.compatible import check_compatible
from glassformer.text.load import load_tokenizer
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import FILE, TARGET_FILE, Tokenizer

FORMAT = 2
SETTINGS, WEIGHTS, METRICS, CARD = "glassformer.json", "model.safetensors", "metrics.json", "README.md"
TOKENIZERS = (FILE, TARGET_FILE)
# Bytes that no glassformer.json exceeds: for labels and tokens, and for each tensor of its blocks. A larger one is
# refused unread, as reading it could take gigabytes.
_LARGEST, _LARGEST_PER_TENSOR = 1 << 24, 1 << 13
Kind = TypeVar("Kind", bound=Described)
Header = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape and type of number (`F32`) of each tensor of a file of weights."""
_BLOCK = re.compile(r"(encoder|decoder)\.blocks\.(\d+)\.")


class TokenizerFacts(Settings):
    """The model's tokenizer: the SHA-256 of its file, or of its two, and which token has which role."""

    sha256: str
    roles: SpecialTokens


class TemplateFacts(Settings):
    """How a decoder writes the turns of a conversation: its templates by name, and the tokens that they may write."""

    texts: dict[str, str]
    tokens: dict[str, str] = Field(default_factory=dict)


class Facts(Settings):
    """What `glassformer.json` holds, to rebuild the model and find its held-out text; `checksums` are CRC-32."""

    format: int
    made_by: str = ""
    family: str
    model: ModelConfig
    task: TaskSection | None = None
    length: int | None = Field(default=None, ge=1)
    data: DataSection | None = None
    tokenizer: TokenizerFacts | None = None
    token_settings: dict[str, Any] = Field(default_factory=dict)
    generation: dict[str, Any] = Field(default_factory=dict)
    chat_templates: TemplateFacts | None = None
    pooling: Pooling = "mean"
    checksums: dict[str, str] = Field(default_factory=dict)


@cache
def facts_class(task: str | None) -> type[Facts]:
    if task is None:
        return create_model("Facts", __base__=Facts, task=(None, None))
    section, data = section_of(task), data_of(task)
    return create_model("Facts", __base__=Facts, task=(section, ...), data=(Optional[data], None))  # type: ignore[arg-type]  # noqa: UP045 - a type that is made here


def read_with(
    directory: str | Path, kind: type[Kind], header_of: Callable[[Path], Header], build: Callable[..., Any]
) -> Kind:
    """A record of this `kind`, of which `build` makes the module from the settings, the path of the weights and their
    header; the recipe is read on first access, and damaged metrics are a note. Raises CheckpointError.
    """
    given = Path(directory)
    directory = current(given)
    if not (directory / SETTINGS).is_file():
        refuse_pickles(directory)
        raise CheckpointError(f"{directory} is not a saved model: it has no {SETTINGS}")
    header = header_of(directory / WEIGHTS)
    facts = read_facts(directory / SETTINGS, header)
    module = build(facts.model, directory / WEIGHTS, header, checksum=facts.checksums.get(WEIGHTS))
    tokenizer = None if facts.tokenizer is None else tokenizer_of(directory, facts.tokenizer, facts.model)
    metrics, notes = metrics_of(directory / METRICS, facts.checksums.get(METRICS))
    card = directory / CARD
    said = facts.chat_templates
    return kind(
        module,
        tokenizer,
        task=facts.task,
        length=facts.length,
        data=facts.data,
        token_settings=facts.token_settings,
        generation=facts.generation,
        templates=None if said is None else ChatTemplates(said.texts, said.tokens),
        pooling=facts.pooling,
        metrics=metrics,
        # Users may edit the card in any way: nothing in it must keep a model from being opened.
        card=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
        notes=notes,
        source=given,
    )


def read_facts(path: Path, header: Header) -> Facts:
    """`glassformer.json`, compared with the weights before anything is built. Raises CheckpointError."""
    size, largest = path.stat().st_size, _LARGEST + len(header) * _LARGEST_PER_TENSOR
    if size > largest:
        raise CheckpointError(f"{path} must describe the {len(header)} weights next to it", got=f"{size:,} bytes")
    values = json_of(path)
    if values.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} must be of format {FORMAT}, which this glassformer reads",
            got=f"format {values.get('format')!r}",
            do="open it with the glassformer that saved it"
            + (f" ({values['made_by']})" if values.get("made_by") else ""),
        )
    _compare_blocks(path, values, header)
    try:
        if "checksum" in values:
            check_seal(values)
        said = {name: value for name, value in values.items() if name != "checksum"}
        task = said["task"].get("name") if isinstance(said.get("task"), dict) else None
        if task is not None and not isinstance(task, str):
            raise ConfigError("task.name must be a word", got=repr(task)[:60])
        facts = read_settings(facts_class(task), said, where=str(path))
    except (ConfigError, ValueError) as error:
        raise CheckpointError(
            f"{path} must describe a model as it was saved",
            got=str(error),
            do='copy or download it again; if you changed it yourself, delete its line "checksum"',
        ) from None
    return facts


def _compare_blocks(path: Path, values: Mapping[str, Any], header: Header) -> None:
    """Compare the number of blocks before the settings of each are read: a file may claim any number of them."""
    model = values.get("model")
    for name in ("encoder", "decoder"):
        stack = model.get(name) if isinstance(model, dict) else None
        blocks = stack.get("blocks") if isinstance(stack, dict) else None
        if isinstance(blocks, list) and len(blocks) != blocks_in(header, name):
            raise CheckpointError(
                f"{path} must describe the weights next to it, with {blocks_in(header, name)} blocks in the {name}",
                got=f"{len(blocks)}",
            )


def blocks_in(header: Header, stack: str) -> int:
    """How many blocks of a stack, `encoder` or `decoder`, have weights."""
    found = (_BLOCK.match(name) for name in header)
    return len({match[2] for match in found if match and match[1] == stack})


def json_of(path: Path) -> dict[str, Any]:
    try:
        values = read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} must be a JSON file", got=f"one that cannot be read ({error})", do="copy or download it again"
        ) from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


def metrics_of(path: Path, checksum: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metrics, {} when they are damaged, and a note in this case."""
    if not path.is_file():
        return {}, ()
    try:
        if checksum is not None and file_checksum(path) != checksum:
            raise ValueError("its checksum does not match")
        return json_of(path), ()
    except (OSError, ValueError, CheckpointError):
        return {}, (f"{path} is damaged and was not read: the model is whole, but its scores are unknown",)


def tokenizer_of(directory: Path, facts: TokenizerFacts, model: ModelConfig) -> Tokenizer:
    path = directory / FILE
    if not path.is_file():
        raise CheckpointError(
            f"the model's tokenizer is needed at {path}",
            got="no such file",
            do="copy it from where the model was saved, or save the model again",
        )
    tokenizer = load_tokenizer(directory)
    check_compatible(tokenizer, model)
    if checksum_of(directory) != facts.sha256:
        raise CheckpointError(
            f"{path} must be the tokenizer that was saved with the model",
            got="another one",
            do="put the original back: the model's ids belong to its tokens",
        )
    return tokenizer if facts.roles == tokenizer.special else tokenizer.with_roles(facts.roles)


def checksum_of(directory: Path) -> str:
    there = (directory / name for name in TOKENIZERS if (directory / name).is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in there)).hexdigest()
