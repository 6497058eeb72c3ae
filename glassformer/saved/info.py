"""Facts about a model, as plain lists and strings."""

from collections.abc import Callable, Sequence
from typing import Any

from glassformer.base.wrapping import in_one_line
from glassformer.config import BlockConfig, ModelConfig, StackConfig
from glassformer.models.families import SLIDES_DO_NOT_DRAW
from glassformer.models.stack import reach_rule
from glassformer.parts.mask import visible, window
from glassformer.saved.artefact import Artefact
from glassformer.saved.store import changed_files

# The labels that are shown, and the characters of each.
_LABELS, _LONGEST = 20, 40


def describe(model: Artefact) -> dict[str, Any]:
    """Family, task, sizes, parameters by part, tokenizer, precision and data of a model."""
    config = model.config
    saved = None if model.saved_as is None else str(model.saved_as).removeprefix("torch.")
    facts: dict[str, Any] = {
        "family": config.family,
        "task": None if model.task is None else model.task.name,
        "labels": list(model.labels),
        "sizes": {
            name: _sizes(stack) for name, stack in (("encoder", config.encoder), ("decoder", config.decoder)) if stack
        },
        "parameters": _parameters(model),
        "tokenizer": _tokenizer(model),
        "reads_at_once": model.max_text_tokens if model.has_tokenizer else model.length,
        "pooling": model.pooling,
        "prediction": {"device": str(model.device), "precision": _precision(model), "saved_in": saved},
        "data": None if model.data is None else model.data.model_dump(mode="json", exclude_none=True),
        "scores": model.metrics.get("scores"),
        "notes": list(model.notes),
        "changed_files": [] if model.source is None else list(changed_files(model.source)),
    }
    if config.family == "slides":
        facts["not_in_this_document"] = [_not_drawn(name, what, config) for name, what in SLIDES_DO_NOT_DRAW.items()]
    return facts


def shown_labels(labels: Sequence[str]) -> str:
    """The first labels, each short and on one line, and how many more there are."""
    first = ", ".join(in_one_line(label[:_LONGEST]) for label in labels[:_LABELS])
    return first + (f" and {len(labels) - _LABELS:,} more" if len(labels) > _LABELS else "")


def _sizes(stack: StackConfig) -> dict[str, Any]:
    first = stack.blocks[0]
    attention, feed_forward = first.self_attention.body, first.feed_forward
    return {
        "layers": len(stack.blocks),
        "width": stack.width,
        "heads": attention.heads,
        "key_value_heads": attention.key_value_heads,
        "query_size": attention.query_size,
        "value_size": attention.value_size,
        "feed_forward": None if feed_forward is None else feed_forward.body.width,
        "positions": _positions(stack),
        "attention_mask": _attention_mask(stack),
        "vocabulary": stack.embed.vocabulary,
        "longest": stack.max_length,
    }


def _positions(stack: StackConfig) -> str:
    if stack.relative_bias is not None:
        return "relative bias"
    if stack.blocks[0].self_attention.body.rotary is not None:
        return "rotary"
    return stack.embed.position.kind


def _attention_mask(stack: StackConfig) -> str:
    """Who may look at whom, in the words of parts/mask.py; a window is that of its layers."""
    rule = str(reach_rule(stack) & visible() if stack.hide_masked else reach_rule(stack))
    windows = dict.fromkeys(block.self_attention.body.window for block in stack.blocks)
    if windows == {None: None}:
        return rule
    named = " or ".join("everything" if size is None else str(window(size)) for size in windows)
    return f"{rule} & {named if len(windows) == 1 else f'({named}, by layer)'}"


def _parameters(model: Artefact) -> dict[str, int]:
    """Counts by part; a shared table is counted once, in the first part that has it."""
    counts = {"all": 0}
    rounded = [(name, matrix) for name, matrix in model.module.named_buffers() if name.endswith(".rounded")]
    if (
        model.module.head is not None and model.module.head.weight is None
    ):  # the word vectors, which are counted already
        rounded = [(name, matrix) for name, matrix in rounded if not name.startswith("head.product.")]
    for name, parameter in (*model.module.named_parameters(), *rounded):
        steps = name.split(".")
        part = ".".join(steps[:2]) if steps[0] in ("encoder", "decoder") else steps[0]
        counts[part] = counts.get(part, 0) + parameter.numel()
        counts["all"] += parameter.numel()
    return counts


def _tokenizer(model: Artefact) -> dict[str, Any] | None:
    if not model.has_tokenizer:
        return None
    tokenizer = model.tokenizer
    return {
        "tokens": tokenizer.vocabulary_size,
        **({"target_tokens": tokenizer.target.vocabulary_size} if len(tokenizer.sides) > 1 else {}),
        "special": {role: token for role, token in vars(tokenizer.special).items() if token is not None},
        "fingerprint": tokenizer.fingerprint[:16],
    }


def _precision(model: Artefact) -> str:
    if model.int8:
        return "matrices in int8, their products in bfloat16, the rest in float32"
    kept = str(next(model.module.parameters()).dtype).removeprefix("torch.")
    if model.only_emulated:
        return f"{kept} (not fast: this machine has no fast bfloat16)"
    return f"bfloat16 (fast), weights {kept}" if model.fast else kept


# How the options that the slides do not draw are read from a config; the others are parts of training.
_IS_ON: dict[str, Callable[[ModelConfig, BlockConfig], bool]] = {
    "scaled": lambda config, block: block.self_attention.body.scaled,
    "norm": lambda config, block: block.self_attention.norm is not None,
    "feed_forward_residual": lambda config, block: bool(block.feed_forward and block.feed_forward.residual),
    "biases": lambda config, block: block.self_attention.body.bias,
    "layers": lambda config, block: bool(config.encoder and len(config.encoder.blocks) > 1),
    "dropout": lambda config, block: block.self_attention.dropout > 0,
}
# A value that switches an option on, and one that switches it off, where these are not true and false.
_VALUES = {"layers": ("2", "1"), "dropout": ("0.1", "0.0")}


def _not_drawn(name: str, what: str, config: ModelConfig) -> dict[str, Any]:
    if name not in _IS_ON:
        return {"name": name, "what": what, "on": True, "switch": "part of training or batching, always on"}
    assert config.encoder is not None
    on = _IS_ON[name](config, config.encoder.blocks[0])
    other = _VALUES.get(name, ("true", "false"))[on]
    switch = f"glassformer train slides --set model.settings.{name}={other}"
    return {"name": name, "what": what, "on": on, "switch": switch}
