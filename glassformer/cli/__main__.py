"""The command line: the first word is a verb, and only that verb's module is imported.

Exit codes: 0 done, 1 what was asked could be done and failed, 2 it cannot be done (one sentence on standard error, also
where standard output is closed or full), 130 and 143 stopped by Ctrl-C and SIGTERM, 141 whoever read standard output
has gone (without a word, as other programs in a pipe end).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Sequence

from glassformer.cli.streams import ReaderGoneError, StandardOutputError, prepare_streams
from glassformer.errors import GlassformerError, did_you_mean
from glassformer.tasks import VERBS as ANSWERS

# What people do, by purpose. Verbs that answer are made from the table of tasks/, in ask.py; each other one lives in
# the module of its name (import in import_.py) as a function of its name.
VERBS: dict[str, dict[str, str]] = {
    "Train": {
        "demo": "train two small models and look inside: the slides' sentences, then English text",
        "plan": "parameters, memory and time of a training, before it starts",
        "train": "train a model from text files or a recipe",
        "evaluate": "measure a model on held-out text, beside baselines",
    },
    "Ask": {verb: entry.help for verb, entry in ANSWERS.items()},
    "Look inside": {
        "explain": "every step from words to answer, with its numbers and formulas",
        "verify": "check every tensor of your model on your text against its formula",
        "info": "what a saved model is: sizes, task, tokenizer, data",
    },
    "In and out": {
        "import": "make a folder of ours from a Hugging Face folder",
        "export": "write a model as a Hugging Face folder",
    },
}

DONE, FAILED, IMPOSSIBLE, INTERRUPTED = 0, 1, 2, 130
_NO_MEMORY = str(
    GlassformerError(
        "what was asked needs more memory than this machine has free",
        do="lower train.batch or data.length, choose a smaller model, or --set train.accumulate=4",
    )
)

# A file may be called so that its name ends the line or commands the terminal, or in bytes that are no letters: such
# characters are told by their codes.
_CONTROL = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000))
}


def main(arguments: Sequence[str]) -> int:
    """Run one command and give back its exit code."""
    try:
        code = _answer(arguments)
        sys.stdout.flush()
        return code
    except ReaderGoneError as gone:
        return gone.exit_code
    except GlassformerError as error:
        return _told(str(error), error.exit_code)
    except KeyboardInterrupt as stopped:
        return _stopped(stopped)
    except (MemoryError, RuntimeError) as error:
        if not _is_of_memory(error):
            raise
        return _told(_NO_MEMORY, FAILED)
    except OSError as error:  # a place that cannot be written to, a full disk
        why = error.strerror or str(error)
        if error.filename is not None:
            return _told(str(GlassformerError(f"{error.filename}: {why}")), IMPOSSIBLE)
        no_place = isinstance(error, FileNotFoundError)  # of all calls only those about the current folder name none
        return _told(f"the current folder: {why}" if no_place else why, IMPOSSIBLE)


def _answer(arguments: Sequence[str]) -> int:
    known = [verb for group in VERBS.values() for verb in group]
    verb = arguments[0] if arguments else "--help"
    if verb in ("--help", "-h", "help"):
        print(help_text())
        return DONE
    if verb == "--version":
        from glassformer import __version__

        print(f"glassformer {__version__}")
        return DONE
    if verb not in known:
        raise GlassformerError(f"there is no verb {verb!r}", do=did_you_mean(verb, known))
    return _run(verb, arguments[1:])


def _is_of_memory(error: Exception) -> bool:
    """Whether there was too little memory: torch says so in an error of its own only on a GPU."""
    said = str(error)
    return isinstance(error, MemoryError) or "out of memory" in said or "can't allocate memory" in said


def _told(sentence: str, code: int) -> int:
    """Say on one line why it ended; give back the exit code."""
    print(f"glassformer: {sentence.translate(_CONTROL)}", file=sys.stderr)
    return code


def help_text() -> str:
    """The verbs with a line each."""
    lines = ["Transformers you can see through.", "", "Usage: glassformer VERB ...", ""]
    for purpose, verbs in VERBS.items():
        lines += [purpose, *(f"  {verb:<10}{line}" for verb, line in verbs.items()), ""]
    lines += ["glassformer VERB --help explains a verb; glassformer --version prints the version."]
    return "\n".join(lines)


def _run(verb: str, arguments: Sequence[str]) -> int:
    import typer

    # Typer's versions carry click under different names; the root of its errors is reached through one they all export.
    wrong_usage: type[Exception] = typer.BadParameter.__mro__[2]
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(_reporting_interrupts(_command(verb)))
    try:
        code = app(args=list(arguments), prog_name=f"glassformer {verb}", standalone_mode=False)
    except wrong_usage as error:
        raise _readable(verb, error) from None
    return code if isinstance(code, int) else DONE


def _command(verb: str) -> Callable[..., None]:
    if verb in ANSWERS:
        from glassformer.cli.ask import asking

        return asking(verb)
    module = importlib.import_module(f"glassformer.cli.{verb}{'_' if verb == 'import' else ''}")
    command: Callable[..., None] = getattr(module, module.__name__.rpartition(".")[2])
    return command


def _reporting_interrupts(command: Callable[..., None]) -> Callable[..., int]:
    """The command, its interrupts reported before Typer sees them, which would exit with 130 and no message."""

    @functools.wraps(command)
    def reporting(*arguments: object, **options: object) -> int:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as interrupt:
            return _stopped(interrupt)
        return DONE

    return reporting


def _stopped(interrupt: KeyboardInterrupt) -> int:
    """Say what is saved and how to go on, where the interrupt knows; give back the exit code."""
    for line in (f"glassformer: {str(interrupt) or 'stopped'}", *getattr(interrupt, "__notes__", ())):
        print(line, file=sys.stderr)
    return int(getattr(interrupt, "exit_code", INTERRUPTED))


def _readable(verb: str, error: BaseException) -> GlassformerError:
    option, near = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option is not None and getattr(error, "message", "").startswith("No such option"):
        return GlassformerError(f"{verb} has no option {option!r}", do=_hint(verb, option, near or ()))
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return GlassformerError(f"{verb}: {message}", do=f"see glassformer {verb} --help")


def _hint(verb: str, option: str, near: Sequence[str]) -> str:
    return did_you_mean(option, near) if near else f"see glassformer {verb} --help"


def run() -> None:
    """The program `glassformer`."""
    prepare_streams()
    code = main(sys.argv[1:])
    with contextlib.suppress(StandardOutputError):  # what was written before an error; the error itself is told
        sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    run()
