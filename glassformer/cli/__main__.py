"""The command line: the first word is a verb, and only that verb's module is imported.

Exit codes: 0 done; 1 the request was possible, but failed; 2 the request is impossible (one sentence on standard error,
also when standard output is closed or full); 130 and 143 stopped by Ctrl-C and SIGTERM; 141 the reader of standard
output has closed it (without a message, as usual for programs in a pipe).
"""

import contextlib
import functools
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any

from glassformer import __version__
from glassformer.base.deprecated import noted
from glassformer.base.errors import DataError, GlassformerError, did_you_mean
from glassformer.base.installed import check_torch
from glassformer.base.machine import is_first
from glassformer.base.wrapping import for_stream, in_one_line, printable
from glassformer.cli.terminal.interrupts import one_at_a_time
from glassformer.cli.terminal.streams import ReaderGoneError, StandardOutputError, prepare_streams
from glassformer.cli.verbs import FOLDERS, PARTS, VERBS
from glassformer.tasks import TASKS
from glassformer.tasks import VERBS as ANSWERS

# By the setting of [data] that leaves out rows which cannot be used: the parameter of a command that can change it, and
# what to type.
_LEAVES_OUT = {
    "rejects": ("rejects", "set such rows aside with --rejects FILE"),
    "on_bad_row": ("set", "leave such rows out with --set data.on_bad_row=skip"),
}
DONE, FAILED, IMPOSSIBLE, INTERRUPTED = 0, 1, 2, 130
# Names of options that were given up, with those that are typed instead: the first that a verb has is named.
_RENAMED = {
    **{f"--{role}": (f"--{role}-column",) for role in ("text", "label", "answers", "choices", "words", "tags")},
    "--column": ("--text-column",),
    "--context-column": ("--pair-column",),
    "--pair": ("--pair-column",),
    "--context": ("--pair", "--pair-column"),
    "--target": ("--target-file",),
    "--beam": ("--beams",),
    "--features": ("--word-vectors",),
    "--temperature": ("--teacher-temperature",),
    "--hide": ("--mask-fraction",),
    "--looks": ("--attention",),
    "--dtype": ("--precision",),
    "--runs": ("--runs-folder",),
    "--words": ("--per-word",),
    "--word": ("--compare-word",),
}
_NO_MEMORY = str(
    GlassformerError(
        "this command needs more memory than this machine has free",
        do="use a smaller model or shorter texts; to train, lower train.batch or data.length, or set train.accumulate",
    )
)


def main(arguments: Sequence[str]) -> int:
    if is_first():
        return _main(arguments)
    with contextlib.redirect_stdout(_Nowhere()), contextlib.redirect_stderr(_Nowhere()):
        return _main(arguments)


def _main(arguments: Sequence[str]) -> int:
    try:
        code = _answer(arguments)
        sys.stdout.flush()
        return code
    except ReaderGoneError as gone:
        return gone.exit_code
    except GlassformerError as error:
        return _report(str(error), error.exit_code)
    except KeyboardInterrupt as stopped:
        return _stopped(stopped)
    except ImportError as error:
        if "failed to map segment" in str(error):  # a library, into memory
            return _report(_NO_MEMORY, FAILED)
        from glassformer.base.installed import problems

        wrong = next(problems(), None)
        if wrong is None:  # a defect of ours, or of a package that is as it should be
            raise
        return _report(str(wrong), wrong.exit_code)
    except (MemoryError, RuntimeError) as error:
        # Whether memory ran out: torch has a separate error type for this only on a GPU.
        said = str(error)
        if not (isinstance(error, MemoryError) or "out of memory" in said or "can't allocate memory" in said):
            raise
        return _report(_NO_MEMORY, FAILED)
    except OSError as error:  # a path that cannot be written to, or a full disk
        why = error.strerror or str(error)
        if error.filename is not None:
            return _report(str(GlassformerError(f"{error.filename}: {why}")), IMPOSSIBLE)
        unnamed = isinstance(error, FileNotFoundError)  # only calls on the current folder give no file name
        return _report(f"the current folder: {why}" if unnamed else why, IMPOSSIBLE)


def _answer(arguments: Sequence[str]) -> int:
    known = [verb for group in VERBS.values() for verb in group]
    verb = arguments[0] if arguments else "--help"
    if verb in ("--help", "-h", "help"):
        lines = ["Transformers you can see through.", "", "Usage: glassformer COMMAND [OPTIONS] ...", ""]
        for purpose, verbs in VERBS.items():
            lines += [purpose, *(f"  {verb:<11}{line}" for verb, line in verbs.items()), ""]
        lines += ["glassformer COMMAND --help explains a command; glassformer --version prints the version."]
        print("\n".join(lines))
        return DONE
    if verb == "--version":
        print(f"glassformer {__version__}")
        return DONE
    for option, value in pairwise([*arguments, "next"]):
        if (value == "" and option.startswith("-")) or (option.startswith("--") and option.endswith("=")):
            raise GlassformerError(f"{option} needs a value", got="an empty one", do="is a shell variable unset?")
    if verb in TASKS and verb not in known:
        its = [*(name for name, entry in ANSWERS.items() if verb in entry.tasks), *TASKS[verb].predictors][:1]
        do = f"{verb} is a task that models are trained for, with glassformer train {verb}"
        raise GlassformerError(f"there is no command {verb!r}", do="; they answer with glassformer ".join([do, *its]))
    if verb not in known:
        raise GlassformerError(f"there is no command {verb!r}", do=did_you_mean(verb, known))
    verb, rest = verb_and_rest(arguments)
    # Typer knows no option whose value can be left out.
    rest = [
        f"{one}=local" if one == "--ray" and after.startswith("-") else one for one, after in pairwise([*rest, "-"])
    ]
    if verb not in VERBS["Installation"]:
        check_torch()
    import typer

    from glassformer.cli.terminal.screen import note

    # Typer's versions contain click under different names; its base error is found through one that all of them export.
    wrong_usage: type[Exception] = typer.BadParameter.__mro__[2]
    command = _command(verb)
    if verb in ("train", "plan") and "--help" in rest:
        from glassformer.cli.train.training_options import help_of_task

        command, lists = help_of_task(command, rest)
        typed = _parser(verb, command, lists)
    else:
        typed = _typed(verb, command)
    try:
        with noted(note):
            code = typed(args=list(rest), prog_name=f"glassformer {verb}", standalone_mode=False)
    except wrong_usage as error:
        raise _readable(verb, error, options_of(command)) from None
    except DataError as error:
        raise _advised(error, command, rest) from None
    return code if isinstance(code, int) else DONE


@functools.cache
def _typed(verb: str, command: Callable[..., None]) -> Any:
    """The parser of a verb, built once where a process runs several commands."""
    return _parser(verb, command, {})


def _parser(verb: str, command: Callable[..., None], lists: Mapping[str, Any]) -> Any:
    import typer

    from glassformer.cli.terminal.help import helped
    from glassformer.cli.terminal.outputs import checking_outputs

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    whole = _quietly(checking_outputs(command))
    app.command(cls=helped(whole, verb, lists))(whole)
    return typer.main.get_command(app)


def verb_and_rest(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The verb of a command, with its second word where this is a part of it, and the words after it."""
    verb, *rest = arguments
    if rest and rest[0] in PARTS.get(verb, ()):
        return f"{verb} {rest[0]}", rest[1:]
    return verb, rest


def _report(sentence: str, code: int) -> int:
    print(for_stream(f"glassformer: {in_one_line(sentence)}", sys.stderr), file=sys.stderr)
    return code


def options_of(command: Callable[..., None]) -> dict[str, Any]:
    """The options of a command by their first names, as Typer has them."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    metadata = [of for each in parameters for of in getattr(each.annotation, "__metadata__", ())]
    # Typer keeps the first name of an option in an Annotated as its default.
    return {of.default: of for of in metadata if str(getattr(of, "default", "")).startswith("--")}


def _advised(error: DataError, command: Callable[..., None], words: Sequence[str]) -> DataError:
    """The error of a missing column with the options of this command, and of its task, that name columns; the error
    of a row that cannot be used with the option by which this command leaves such rows out.
    """
    from glassformer.bundled.travelling import task_of
    from glassformer.data.readers.named_rows import COLUMN_OPTIONS, NAME_IT

    its, do = options_of(command), error.do
    kept = [value for option, value in pairwise(words) if option == "--keep"]
    if any(error.wanted.endswith(f"a column {column!r}") for column in kept):
        do = do.replace(NAME_IT, "--keep names columns of the file")
    named = (word if word in TASKS else task_of(word) for word in words)
    read = next((TASKS[task].columns or ("text",) for task in named if task is not None and task in TASKS), ())
    if mine := [name for name in COLUMN_OPTIONS if name in its and (not read or name[2:-7] in read)]:
        do = do.replace(NAME_IT, f"name the column with {' or '.join(mine)}")
    option, advice = _LEAVES_OUT.get(error.left_out_by, ("", ""))
    if option in inspect.signature(command).parameters:
        do = f"{do}; {advice}" if do else f"fix it, or {advice}"
    return error if do == error.do else type(error)(error.wanted, got=error.got, do=do)


def _command(verb: str) -> Callable[..., None]:
    if verb in ANSWERS:
        from glassformer.cli.ask.ask import asking

        return asking(verb)
    folder = next(FOLDERS[purpose] for purpose, verbs in VERBS.items() if verb.partition(" ")[0] in verbs)
    name = "import_" if verb == "import" else verb.replace(" ", "_")
    return getattr(importlib.import_module(f"glassformer.cli.{folder}.{name}"), name)


def _quietly(command: Callable[..., None]) -> Callable[..., int]:
    """The command with the option --quiet: without progress and notes, but with errors and what Ctrl-C has kept. Its
    interrupts are reported here: Typer would exit with 130 and no message.
    """
    import typer

    from glassformer.cli.terminal.options import keyword, signed

    option = typer.Option("--quiet", "-q", help="Print only results and errors, no progress or notes.")

    def quietly(*, quiet: bool, **options: object) -> int:
        # All notes and all progress go to standard error, and errors are printed where this has ended.
        try:
            with contextlib.redirect_stderr(_Nowhere()) if quiet else contextlib.nullcontext():
                command(**options)
        except KeyboardInterrupt as interrupt:
            return _stopped(interrupt)
        return DONE

    parameters = inspect.signature(command, eval_str=True).parameters.values()
    return signed(quietly, command, [*parameters, keyword("quiet", Annotated[bool, option], False)])


class _Nowhere(io.TextIOBase):
    """A stream that nobody reads."""

    def write(self, text: str) -> int:
        return len(text)


def _stopped(interrupt: KeyboardInterrupt) -> int:
    """Print what is saved and how to resume, where the interrupt says so; returns the exit code."""
    print(for_stream(f"glassformer: {printable(str(interrupt)) or 'stopped'}", sys.stderr), file=sys.stderr)
    for line in getattr(interrupt, "__notes__", ()):
        print(printable(line), file=sys.stderr)
    return int(getattr(interrupt, "exit_code", INTERRUPTED))


def _readable(verb: str, error: BaseException, options: Collection[str]) -> GlassformerError:
    option, near = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option is not None and getattr(error, "message", "").startswith("No such option"):
        return GlassformerError(f"{verb} has no option {option!r}", do=_hint(verb, option, near or (), options))
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    # Typer lists choices on lines of their own; "Value error" is pydantic's, in what Typer says of an unknown choice.
    message = " ".join(message.replace("Value error, ", "", 1).split())
    quotes = "a text of several words needs quotes; " if message.startswith("Got unexpected extra argument") else ""
    return GlassformerError(f"{verb}: {message}", do=f"{quotes}see glassformer {verb} --help")


def _hint(verb: str, option: str, near: Sequence[str], options: Collection[str]) -> str:
    if renamed := [name for name in _RENAMED.get(option, ()) if name in options]:
        return f"write {renamed[0]}"
    bare = {name.lstrip("-"): name for name in near}  # with the dashes all options are alike
    alike = get_close_matches(option.lstrip("-"), bare, 1)
    return f"did you mean {bare[alike[0]]!r}?" if alike else f"see glassformer {verb} --help"


def run() -> None:
    prepare_streams()
    one_at_a_time()
    code = main(sys.argv[1:])
    with contextlib.suppress(StandardOutputError):  # only output from before an error is left; the error is printed
        sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    run()
