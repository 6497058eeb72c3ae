import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import typer

from glassformer.bundled.travelling import travelling
from glassformer.cli.terminal.help import names_of
from glassformer.cli.terminal.outputs import checking_outputs
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.tasks import TASKS

Shell = Literal["bash", "zsh", "fish"]
# Verbs whose first word is a task or a bundled recipe.
_OF_TASKS = ("train", "plan")
# What an option takes that is neither a number nor a text: by the end of its help, or its metavar.
_CHOICES = re.compile(r"[a-z0-9-]+(?:\|[a-z0-9-]+)+")


class Option(typing.NamedTuple):
    """An option of a verb: its names, what it does, and its values, where it takes one of few."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]


class Verb(typing.NamedTuple):
    """A verb, or a verb with its second word: what it does, its options, and which first words it knows."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="Your shell: bash, zsh or fish.", show_default=False)],
) -> None:
    """Print a script that lets your shell complete commands, options and model names. Save it where the shell looks for
    such scripts; the first lines of the script give the path.
    """
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell](list(verbs())))


def verbs() -> Iterator[Verb]:
    """All verbs with their options, from the signatures that also make --help."""
    from glassformer.cli.__main__ import _command

    for verb, line in _first_words().items():
        for name in (verb, *(f"{verb} {part}" for part in PARTS.get(verb, ()))):
            if name == "search":  # only its parts are commands
                yield Verb(name, line, (), PARTS[name])
                continue
            command = checking_outputs(_command(name))
            yield Verb(name, line, tuple(_options(command)), tuple(_words(verb, command)))


def _options(command: Callable[..., None]) -> Iterator[Option]:
    for each in inspect.signature(command, eval_str=True).parameters.values():
        kind, info = typing.get_args(each.annotation)[:2]
        if isinstance(info, typer.models.OptionInfo):
            kinds = (of for of in (kind, *typing.get_args(kind)) if typing.get_origin(of) is Literal)
            choices = info.metavar.split("|") if info.metavar and _CHOICES.fullmatch(info.metavar) else ()
            values = next(map(typing.get_args, kinds), tuple(choices))
            yield Option(tuple(names_of(info)[1]), _sentence(info.help or ""), values)
    yield Option(("--quiet", "-q"), "Print only results and errors, no progress or notes.", ())
    yield Option(("--help",), "Show this message and exit.", ())


def _sentence(help_: str) -> str:
    """The first sentence of a help text, in characters that no shell reads as its own."""
    first = re.split(r"(?<=\.)\s|\s\s|: ", f"{help_} ")[0].strip().rstrip(".")
    return re.sub(r"[^\w ,.()/=-]", "", first)


def _words(verb: str, command: Callable[..., None]) -> list[str]:
    if verb in _OF_TASKS:
        from glassformer.cli.train.training_options import RECIPES

        return [*TASKS, *RECIPES]
    if verb == "completion":
        return list(typing.get_args(Shell))
    first = next(iter(inspect.signature(command, eval_str=True).parameters.values()), None)
    info = None if first is None else typing.get_args(first.annotation)[1]
    models = "MODEL" in (getattr(info, "metavar", None) or "").split("_")[0]
    return [*PARTS.get(verb, ()), *(travelling() if models else ())]


def bash(found: Sequence[Verb]) -> str:
    """The script for bash, which completes file names where it knows no other word."""
    options, values, words = [], [], []
    for verb in found:
        options.append(f'    "{verb.name}") echo "{" ".join(name for of in verb.options for name in of.names)}" ;;')
        if verb.words:
            words.append(f'    "{verb.name}") echo "{" ".join(verb.words)}" ;;')
        for of in verb.options:
            if of.values:
                names = "|".join(f'"{verb.name} {name}"' for name in of.names)
                values.append(f'    {names}) echo "{" ".join(of.values)}" ;;')
    pairs = "|".join(f'"{verb} {part}"' for verb, parts in PARTS.items() for part in parts)
    return f"""# glassformer completion bash > ~/.local/share/bash-completion/completions/glassformer
_glassformer_options() {{
  case "$1" in
{chr(10).join(options)}
  esac
}}
_glassformer_values() {{
  case "$1" in
{chr(10).join(values)}
  esac
}}
_glassformer_words() {{
  case "$1" in
{chr(10).join(words)}
  esac
}}
_glassformer() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" known
  local verb="${{COMP_WORDS[1]}}" first=2
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(_first_words())} --help --version" -- "$current"))
    return
  fi
  case "$verb ${{COMP_WORDS[2]}}" in {pairs}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb ${{COMP_WORDS[2]}}" first=3 ;; esac
  known="$(_glassformer_values "$verb $before")"
  if [ -z "$known" ]; then
    case "$current" in
      -*) known="$(_glassformer_options "$verb")" ;;
      *) [ "$COMP_CWORD" -eq "$first" ] && known="$(_glassformer_words "$verb")" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$known" -- "$current"))
  return 0  # also where nothing fits: bash then completes names of files
}}
complete -o bashdefault -o default -F _glassformer glassformer
"""


def zsh(found: Sequence[Verb]) -> str:
    """The script for zsh, with what each verb and option does."""
    cases = []
    for verb in found:
        options = " ".join(f"'{name}:{of.help}'" for of in verb.options for name in of.names)
        lines = [f"    options=({options})", f"    words_known=({' '.join(verb.words)})"]
        lines += [
            f"    [[ $before == ({'|'.join(of.names)}) ]] && compadd {' '.join(of.values)} && return"
            for of in verb.options
            if of.values
        ]
        cases.append("\n".join([f"  '{verb.name}')", *lines, "    ;;"]))
    shown = " ".join(f"'{verb}:{_sentence(line)}'" for verb, line in _first_words().items())
    pairs = "|".join(f"'{verb} {part}'" for verb, parts in PARTS.items() for part in parts)
    return f"""#compdef glassformer
# glassformer completion zsh > a folder of $fpath/_glassformer
local -a verbs options words_known
local verb=$words[2] before=$words[CURRENT-1] first=3
verbs=({shown})
if (( CURRENT == 2 )); then
  _describe command verbs
  return
fi
case "$verb $words[3]" in
  {pairs}) (( CURRENT > 3 )) && verb="$verb $words[3]" first=4 ;;
esac
case "$verb" in
{chr(10).join(cases)}
esac
if [[ $words[CURRENT] == -* ]]; then
  _describe option options
else
  (( CURRENT == first )) && compadd -a words_known
  _files
fi
"""


def fish(found: Sequence[Verb]) -> str:
    """The script for fish, with what each verb and option does."""
    lines = ["# glassformer completion fish > ~/.config/fish/completions/glassformer.fish"]
    for first, line in _first_words().items():
        lines.append(f"complete -c glassformer -f -n __fish_use_subcommand -a {first} -d '{_sentence(line)}'")
    for verb in found:
        words = verb.name.split()
        begins = f"__fish_seen_subcommand_from {words[0]}"
        if len(words) > 1:
            begins += f"; and __fish_seen_subcommand_from {words[1]}"
        head = f"complete -c glassformer -n '{begins}'"
        if verb.words:
            lines.append(f"{head} -a '{' '.join(verb.words)}'")
        for of in verb.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in of.names)
            values = f" -x -a '{' '.join(of.values)}'" if of.values else ""
            lines.append(f"{head} {names} -d '{of.help}'{values}")
    return "\n".join(lines) + "\n"


def _first_words() -> dict[str, str]:
    return {verb: line for group in VERBS.values() for verb, line in group.items()}
