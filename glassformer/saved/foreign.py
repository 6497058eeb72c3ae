"""Reading and writing models in Hugging Face's format."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.convert.files import FILES
from glassformer.convert.heads import LabelUse
from glassformer.convert.huggingface import Report, read_huggingface, write_huggingface
from glassformer.convert.unlike import pooling_of, unlike_others
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import HUB
from glassformer.saved.store import refuse_a_model
from glassformer.tasks import TASKS, VERBS, predictor_of, task_named, task_where, verb_of
from glassformer.tasks.settings import HeadOutputs, TaskSection
from glassformer.tasks.writing.settings import StreamSection, TargetSection
from glassformer.tasks.writing.writers import special_ids
from glassformer.text.library import beginning_with
from glassformer.text.tokenizer import TARGET_FILE, Tokenizer

Kind = TypeVar("Kind", bound=Artefact)
LAST, LAST_BIAS = "sentence_head.output.weight", "sentence_head.output.bias"
WORDS = "sentence_head.words."


def read_foreign(path: str | Path, kind: type[Kind]) -> tuple[Kind, Report]:
    """The model of a folder or `hub:owner/name`, and what was not used; CheckpointError, MissingExtraError."""
    folder = Path(path)
    if str(path).startswith(HUB):
        from glassformer.convert.hub import fetch

        folder = fetch(str(path).removeprefix(HUB))
    found = read_huggingface(folder)
    with torch.device("meta"):  # without memory for weights: they come from the file
        module = Transformer(found.config)
    module.load_state_dict(found.state, assign=True)
    report, (pooling, unlike) = found.report, pooling_of(folder)
    saved = kind(
        module, found.tokenizer, task=section_of(found.config, report.use), length=report.length,
        token_settings=report.token_settings, generation=report.generation, templates=found.templates, pooling=pooling,
        source=folder,
    )  # fmt: skip
    saved.notes += (*unlike_others(folder, saved.search[1] if found.config.encoder is not None else {}), *unlike)
    return saved, report


def section_of(config: ModelConfig, use: LabelUse) -> TaskSection | None:
    """The section of the task whose verb answers with an imported head, with what its file says; None without one."""
    head = config.sentence_head or config.token_head
    name = None if use.head is None else task_where(lambda kind: kind.head_use == use.head)
    if name is None or head is None:
        return None
    return task_named(name).Section.of_imported(HeadOutputs(use.labels, use.several), head, begun=use.begun)


def use_of(model: Artefact) -> LabelUse:
    section = model.task
    if section is None or section.name not in TASKS or (head := task_named(section.name).head_use) is None:
        return LabelUse(labels=model.labels)
    return LabelUse(head, model.labels, several=section.head_outputs.several, begun=section.spans_begin)


def write_foreign(model: Artefact, directory: str | Path) -> tuple[str, ...]:
    """Write a folder for `transformers`; returns what is not exported. Raises ConfigError, CheckpointError."""
    refuse_a_model(directory, "an export", FILES)
    model.needs_weights("an export")
    if model.task is not None and (more := model.task.beyond_transformers):
        raise ConfigError(
            "a model for transformers reads token ids", got=f"one that reads {more}", do="export it to onnx"
        )
    state = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    state |= rescaled(model.task, state)
    tokenizer = model.tokenizer if model.has_tokenizer else None
    if tokenizer is not None and isinstance(model.task, StreamSection):
        tokenizer = beginning(tokenizer)
    said = searched(model)
    left = write_huggingface(
        directory, model.config, state, tokenizer, token_settings=said.tokens, generation=said.generation,
        use=use_of(model), length=model.length, start=said.start, templates=model.templates,
    )  # fmt: skip
    two = (
        f"the tokenizer of translations is {TARGET_FILE}, for PreTrainedTokenizerFast of transformers; ctranslate2 "
        f"reads only one vocabulary, and would give wrong words"
    )
    of_two = () if tokenizer is None or len(tokenizer.sides) == 1 else (two,)
    last = () if model.task is None else model.task.not_exported
    pooled = f"its texts' vectors are pooled by {model.pooling}: sentence-transformers takes their mean by default"
    return (*left, *said.remarks, *of_two, *last, *((pooled,) if model.pooling != "mean" else ()))


def beginning(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with the token before each text that a model of streams reads there, unless it adds some itself."""
    id_ = tokenizer.begin_id
    if id_ is None or any(tokenizer.frame):
        return tokenizer
    return Tokenizer(json.dumps(beginning_with(tokenizer.settings, tokenizer.token(id_), id_)), tokenizer.special)


class Searched(NamedTuple):
    """The search settings in Hugging Face's terms, the decoder's first token, and what these cannot express."""

    tokens: Mapping[str, Any]
    generation: Mapping[str, Any]
    start: int | None = None
    remarks: tuple[str, ...] = ()


def searched(model: Artefact) -> Searched:
    """The settings of an imported model, or the own search of one that was trained to translate or write."""
    section = model.task
    if section is not None and model.alone and model.has_tokenizer:
        return _written(model)
    if not isinstance(section, TargetSection) or not model.has_tokenizer:
        return Searched(model.token_settings, model.generation)
    target = model.tokenizer.target
    ids, pad = special_ids(target), target.pad_id
    if (pad or 0) >= model.tokenizer.vocabulary_size:
        raise ConfigError(
            "transformers needs the padding token of targets among the tokens of the sources",
            got=f"token {pad} of {model.tokenizer.vocabulary_size}",
            do="train with a tokenizer.vocabulary that both sides reach",
        )
    beams = 1 if section.greedy else section.beams
    tokens: dict[str, Any] = {"eos_token_id": ids.end[0], "decoder_start_token_id": ids.begin}
    generation: dict[str, Any] = {
        **tokens,
        "max_length": model.config.output_stack.embed.position.max_length,
        "num_beams": beams,
        "length_penalty": section.length_penalty,
        # Our search is exact; theirs warns of "never" where it is greedy.
        "early_stopping": "never" if beams > 1 else False,
    }
    if pad is not None:
        generation |= {"pad_token_id": pad, "bad_words_ids": [[pad]]}
    remarks = []
    if beams > 1 and section.length_penalty:
        remarks.append(
            f"the length penalty {section.length_penalty:g} divides scores by ((5 + n) / 6)^{section.length_penalty:g} "
            f"here and by n^{section.length_penalty:g} there, for an answer of n tokens: some translations differ"
        )
    if model.config.family == "marian" and pad != target.vocabulary_size - 1:
        remarks.append("ctranslate2 cannot read it: its padding is not the last token of the vocabulary")
    # Their default would end the longest texts, which we cut.
    tokens = {**model.token_settings, **tokens, "forced_eos_token_id": None}
    return Searched(tokens, generation, start=ids.begin if ids.begin in ids.never else None, remarks=tuple(remarks))


def _written(model: Artefact) -> Searched:
    """How a decoder that was trained here chooses its tokens."""
    talks = next(verb for verb, entry in VERBS.items() if entry.turns)
    writes = verb_of(str(task_where(lambda kind: kind.of_imported == "decoder")))
    kind = predictor_of(writes if model.templates is None else talks, model.task_name, model.config)
    writer: Any = kind.of(model.module, model.tokenizer, model.context({}))
    writer = getattr(writer, "writer", writer)
    ends, never, settings = writer.ids.end, writer.ids.never, writer.settings
    drawn = {"temperature": settings.temperature, "top_p": settings.top_p, "top_k": 0}
    generation: dict[str, Any] = {
        "do_sample": settings.method == "sample",
        **(drawn if settings.method == "sample" else {}),
        "max_new_tokens": settings.max_tokens,
        "bos_token_id": writer.ids.begin,
        **({"eos_token_id": list(ends) if len(ends) > 1 else ends[0]} if ends else {}),
        **({"pad_token_id": model.tokenizer.pad_id if model.tokenizer.pad_id is not None else ends[0]} if ends else {}),
        **({"suppress_tokens": list(never)} if never else {}),
    }
    return Searched(model.token_settings, generation)


def rescaled(section: TaskSection | None, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The last layer of the head, with the temperature of its probabilities, or the scale and shift of its numbers;
    where words have scores, these too.
    """
    outputs = HeadOutputs() if section is None else section.head_outputs
    by, more = outputs.scale / outputs.temperature, outputs.shift
    if (by, more) == (1.0, 0.0) or LAST not in state:
        return {}
    names = [LAST, LAST_BIAS, *(name for name in state if name.startswith(WORDS))]
    added = {LAST_BIAS: more}
    # Numbers near 1,000 are 4 apart in bfloat16.
    into = {name: torch.promote_types(state[name].dtype, torch.float32) for name in names}
    return {name: (state[name].double() * by + added.get(name, 0.0)).to(into[name]) for name in names}
