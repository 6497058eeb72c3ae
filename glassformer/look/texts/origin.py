"""How a trace of texts can be asked for again: in Python, on the command line, or with other words."""

import shlex
from pathlib import Path

from glassformer.bundled.texts import slides_model
from glassformer.bundled.travelling import travelling
from glassformer.config import ModelConfig
from glassformer.look.texts.reader import Given
from glassformer.look.trace.trace import Origin
from glassformer.text.tokenizer import Tokenizer

# The slides' model, which is bundled.
SLIDES = slides_model()

MOST_WORDS = 2000  # In a larger vocabulary it is not looked whether each entry is read as one word


def origin_of(
    given: Given, config: ModelConfig, tokenizer: Tokenizer, source: Path | None, *, scored_by_masks: bool
) -> Origin:
    """The origin of a trace of these texts; `source` is the folder that its model was opened from."""
    lines, where = opened_by(source)
    return Origin(
        loads=lines,
        texts=given.texts,
        seconds=given.seconds,
        choices=given.choices,
        target_ids=given.target_ids,
        command=command_for(given, where, two_stacks=config.encoder is not None and config.decoder is not None),
        by_word=reads_by_word(config, tokenizer),
        mask_id=tokenizer.mask_id,
        scored_by_masks=scored_by_masks,
    )


def opened_by(source: Path | None) -> tuple[tuple[str, ...], str | None]:
    """Python that opens the model again, and what the command line calls it, None for the slides' model. Of a folder
    outside of the current one only its name is told.
    """
    if source is None:
        return ("import glassformer as gf",), "MODEL"
    if source.resolve() == SLIDES:
        lines = ("import glassformer as gf", "from glassformer.bundled.texts import slides_model")
        return (*lines, "model = gf.load(slides_model())"), None
    name = next((name for name, folder in travelling().items() if source == folder), None)
    where = name or (source.name if source.is_absolute() else source.as_posix())
    return ("import glassformer as gf", f"model = gf.load({where!r})"), where


def command_for(given: Given, where: str | None, *, two_stacks: bool) -> str:
    if where is None:
        return "glassformer explore"
    second = [] if given.seconds is None else ["--target" if two_stacks else "--pair", given.seconds[0]]
    each = [part for choice in given.choices or () for part in ("--choice", choice)]
    return shlex.join(["glassformer", "explore", where, *given.texts, *second, *each])


def reads_by_word(config: ModelConfig, tokenizer: Tokenizer) -> bool:
    """Whether a text is words of the vocabulary with blanks between, nothing around them, and only guessed words are
    asked for: then whoever has the vocabulary can read any text.
    """
    other = config.decoder is not None or config.sentence_head is not None or config.token_head is not None
    if other or len(tokenizer.sides) > 1 or any(tokenizer.frame_ids) or tokenizer.vocabulary_size > MOST_WORDS:
        return False
    if config.output_stack.embed.segments or tokenizer.settings["model"]["type"] != "WordLevel":
        return False
    entries = tokenizer.vocabulary()
    return all(found.ids == [id_] for id_, found in enumerate(tokenizer.encode_batch(entries, special=False)))
