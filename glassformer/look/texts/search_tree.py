"""What a model writes after a prompt, a source or a conversation, recorded step by step as a tree."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from glassformer.answering.answers import predictor_for
from glassformer.base.errors import ConfigError, DataError
from glassformer.decode.attention import bytes_for, check_bytes
from glassformer.decode.options import WritingOptions
from glassformer.decode.record import Recorder
from glassformer.decode.request import Hypothesis, Request
from glassformer.look.texts.trace import trace
from glassformer.look.texts.tree import SearchTree, recorded
from glassformer.look.texts.written import path_of
from glassformer.look.trace.trace import Trace
from glassformer.saved.artefact import Artefact
from glassformer.tasks import VERBS, verb_of, verb_where
from glassformer.tasks.predictor import precision
from glassformer.tasks.writing.chat.chatter import Chatter, joined
from glassformer.tasks.writing.generator import SLOTS as PROMPTS
from glassformer.tasks.writing.generator import Generate
from glassformer.tasks.writing.translator import SLOTS as SOURCES
from glassformer.tasks.writing.translator import Translator


class Asked(NamedTuple):
    """A writer's request, the text, the turns of its conversation, and what makes text of what was found."""

    writer: Generate | Translator
    request: Request
    slots: int
    text: str
    answer: Callable[[list[Hypothesis]], str]
    turns: tuple[str, ...] = ()


def search_tree(
    model: Artefact,
    text: str | Sequence[str],
    options: WritingOptions,
    *,
    verb: str | None = None,
    attention: bool = False,
    begins: Sequence[int] = (),
) -> SearchTree:
    """The search or drawing that a verb makes, step by step, of a text or the turns of a conversation; with
    `attention`, where each step looked. Watched, attention is computed by its formula: last digits may differ from the
    verb's. `begins`: tokens with which the answer begins; what follows is drawn by the same numbers as without them.
    Raises ConfigError for a model that does not write and for too much attention; DataError for a text of only
    blanks, one translated in parts, and where no answer has the words that are asked for.
    """
    if model.config.decoder is None:
        got, do = f"the family {model.config.family}, an encoder", "choose a model that translates or continues a text"
        raise ConfigError("only a decoder writes, and searches for what it writes", got=got, do=do)
    verb = verb or writing_verb(model)
    if options.prefix and VERBS[verb].writes != "translation":
        raise ConfigError(
            "only a translation has a prefix", got=repr(options.prefix), do="add it to the end of the text"
        )
    if not isinstance(text, str) and not VERBS[verb].turns:
        raise DataError("a search is for one text", got=type(text).__name__)
    predictor = predictor_for(model, verb, options)
    limit = model.module.output_stack.max_length
    asked = asked_of(predictor, text, limit=limit)
    writer = asked.writer
    request = replace(asked.request, prefix=(*asked.request.prefix, *begins)) if begins else asked.request
    prompt = (*(request.prompt or (writer.ids.begin,)), *request.prefix)
    if attention:
        check_bytes(
            bytes_for(
                model.config.output_stack,
                prompt=len(prompt),
                tokens=request.max_tokens or writer.settings.max_tokens,
                hypotheses=writer.settings.width,
                memory=len(request.source or ()),
                size=8 if model.module.word_table.dtype == torch.float64 else 4,
            )
        )
    recorder, found = Recorder(attention=attention), None
    with torch.inference_mode(), precision(model.device, fast=model.fast):
        for step in writer.steps(model.module, [request], slots=asked.slots, recorder=recorder):
            found = next((each.hypotheses for each in step.finished), found)
    tokenizer = writer.tokenizer.target
    # A token without a text, as an end may be, has its name.
    nodes, texts, kept = recorded(recorder, request.number, lambda each: tokenizer.text(each) or tokenizer.token(each))
    source = None if request.source is None else tuple(request.source)
    answer, never, ends = asked.answer(found or []), tuple(writer.ids.never), tuple(writer.ids.end)
    return SearchTree(
        writer.settings, source, prompt, nodes, texts, never, asked.text, answer, asked.turns, ends, limit, kept
    )


def trace_of(model: Artefact, tree: SearchTree) -> Trace:
    """The run of all that was written, up to the end of the best answer; raises ConfigError where there is none."""
    return trace(model, tree.text, target_ids=tree.whole_ids(path_of(tree)[-1]))


def writing_verb(model: Artefact) -> str:
    """The verb by which a model writes, where none is named."""
    verb = verb_of(model.task_name) if model.task_name else ""
    if verb and VERBS[verb].writes:
        return verb
    return verb_where(lambda entry: entry.writes == ("text" if model.alone else "translation"))


def asked_of(predictor: Any, text: str | Sequence[str], *, limit: int | None) -> Asked:
    """What a predictor would ask of the decoding loop for this text; raises DataError where that is not one request."""
    if isinstance(predictor, Generate):
        prompt = predictor.example({"text": text}, "")
        request = predictor.request(prompt.ids)
        return Asked(predictor, request, PROMPTS, prompt.text, lambda found: predictor.merge(prompt, [found]).generated)
    if isinstance(predictor, Chatter):
        conversation = predictor.example({"turns": text if isinstance(text, str) else list(text)}, "")
        if conversation.left_out:
            got = f"{conversation.left_out:,} tokens more than are read at once"
            raise DataError("the tree of a reply is of turns that are read whole", got=got, do="give a shorter turn")
        read = conversation.turns[-conversation.read :]
        return Asked(
            predictor.translator,
            predictor.translator.request(next(predictor.rows(conversation)).ids, limit),
            SOURCES,
            joined(read),
            lambda found: predictor.merge(conversation, [found]).reply,
            read,
        )
    writer = getattr(predictor, "writer", None)
    if isinstance(writer, Generate):  # a decoder alone, which reads the turns as its template writes them
        talk = predictor.example({"turns": text if isinstance(text, str) else list(text)}, "")
        turns = talk.turns[-talk.read :]
        request, said = writer.request(talk.ids), joined(turns)
        return Asked(writer, request, PROMPTS, said, lambda found: str(predictor.merge(talk, [found]).reply), turns)
    if not isinstance(predictor, Translator):
        raise ConfigError("a search tree is of a text that is written", got=type(predictor).__name__)
    example = predictor.example({"text": text}, "")
    rows = list(predictor.rows(example))
    if len(rows) != 1:
        got = f"a text that is translated in {len(rows)} parts" if rows else "a text of only blanks"
        do = "give one of its sentences" if rows else "give a text with words"
        raise DataError("a search tree is of one sentence", got=got, do=do)
    request = predictor.request(rows[0].ids, limit)
    return Asked(predictor, request, SOURCES, example.text, lambda found: predictor.merge(example, [found]).translation)
