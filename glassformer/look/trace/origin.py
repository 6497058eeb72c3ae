"""How a trace of texts was asked for, so that it can be asked for again: in Python, or with other words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """The texts of a run as they were given, and what reads them. `loads` are Python lines after which `model` is the
    model, `command` is what opens the run live. `seconds` are second texts of pairs or targets, `target_ids` targets as
    tokens, `choices` the candidates of the only text. `by_word`: a text is words of the vocabulary with blanks between
    them. `mask_id` is the token that stands for [MASK], None where there is none. `scored_by_masks`: the vocabulary is
    scored at the masked words, and everywhere where there are none.
    """

    loads: tuple[str, ...]
    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    target_ids: tuple[tuple[int, ...], ...] | None = None
    command: str = ""
    by_word: bool = False
    mask_id: int | None = None
    scored_by_masks: bool = True
