from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

from glassformer.cli.ask.decoding_options import CHATTING, DECODING, WRITING
from glassformer.cli.terminal import options
from glassformer.tasks import VERBS

# The options of verbs that write, by what they write.
_WRITING = {"reply": CHATTING, "text": WRITING, "translation": DECODING}
_TRAINED = "as in training"
_SCORED = "Required for an encoder–decoder, unless --file has a column for it.  [default: none]"
_TARGET = Annotated[str | None, options.target_option(_SCORED)]
# What is read of a table where no column is named, by role.
_UNNAMED = {
    "text": f"{_TRAINED}, else text",
    "pair": f"{_TRAINED}, else none",
    "target": f"{_TRAINED}; required for a chat model: the column with the replies",
    "words": f"{_TRAINED}, else {options.OF_TAGGED['words']}",
}


@cache
def asking(verb: str) -> Callable[..., None]:
    entry = VERBS[verb]
    columns = entry.columns
    own = {
        **({"top": (Annotated[int, options.top_option(entry.top)], 5)} if entry.top else {}),
        **({"expect": (options.Expect, None)} if entry.masks else {}),
        **({"target": (_TARGET, None)} if "target" in entry.of_pairs else {}),
        **_WRITING.get(entry.writes, {}),
    }
    shared: dict[str, tuple[Any, object]] = {
        "text": (Annotated[list[str] | None, options.texts_argument(entry.texts)], None),
        "model": (options.NamedModel, None),
        **({"pair": (options.Pair, None)} if "pair" in columns else {}),
        **({"choice": (options.Choices, None)} if "choices" in columns else {}),
        "file": (Annotated[list[str] | None, options.text_files(entry.files)], None),
        **{f"{role}_column": (options.column_option(role, _UNNAMED.get(role, _TRAINED)), None) for role in columns},
        **own,
        "out": (options.Out, None),
        "resume": (options.Resume, False),
        "rejects": (options.Rejects, None),
        "json": (options.Json, False),
        "fast": (options.Fast, False),
        "engine": (options.Engine, "auto"),
        **({"int8": (options.Int8, False)} if entry.writes else {}),
        "device": (options.Device, "auto"),
        "threads": (options.Threads, None),
        "ray": (options.Ray, None),
    }

    def command(**typed: Any) -> None:
        from glassformer.cli.ask.asked import answer  # --help needs none of it

        answer(entry, own, typed)

    command.__name__, command.__doc__ = verb, f"{entry.help[0].upper()}{entry.help[1:]}."
    return options.signed(command, command, [options.keyword(name, *its) for name, its in shared.items()])
