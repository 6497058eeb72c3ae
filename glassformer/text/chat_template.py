"""How a conversation is written as one text for a decoder: the chat template of a model, as transformers reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.base.errors import CheckpointError, ConfigError, DataError, did_you_mean
from glassformer.base.json_text import read_json
from glassformer.text.special import FOREIGN_ROLES
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from glassformer.text.sandbox import Sandbox

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
# The files of Hugging Face that hold templates: one, and further ones by their names; or the settings of the tokenizer.
FILE, FOLDER, SETTINGS = "chat_template.jinja", "additional_chat_templates", "tokenizer_config.json"
DEFAULT = "default"
# Characters that no template has.
_LONGEST = 1_000_000

MARKS = {role: f"<|{role}|>" for role in (SYSTEM, USER, ASSISTANT)}
"""The tokens that open the turns of each role, where a model learns to chat from the beginning."""
WITH_MARKS = (
    "{%- for message in messages -%}\n"
    "    {%- if message['role'] not in ['system', 'user', 'assistant'] -%}\n"
    "        {{- raise_exception('a turn is of system, user or assistant') -}}\n"
    "    {%- endif -%}\n"
    "    {{- '<|' + message['role'] + '|>' -}}\n"
    "    {%- if message['role'] == 'assistant' -%}\n"
    "        {%- generation -%}{{- message['content'] + eos_token -}}{%- endgeneration -%}\n"
    "    {%- else -%}\n"
    "        {{- message['content'] -}}\n"
    "    {%- endif -%}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}\n"
)
"""Each turn after the token of its role; a reply ends with the end of a text."""
WITH_NAMES = (
    "{%- set names = {'system': 'System:', 'user': 'User:', 'assistant': 'Assistant:'} -%}\n"
    "{%- for message in messages -%}\n"
    "    {%- if message['role'] not in names -%}\n"
    "        {{- raise_exception('a turn is of system, user or assistant') -}}\n"
    "    {%- endif -%}\n"
    "    {{- names[message['role']] -}}\n"
    "    {%- if message['role'] == 'assistant' -%}\n"
    "        {%- generation -%}{{- ' ' + message['content'] + eos_token -}}{%- endgeneration -%}\n"
    "    {%- else -%}\n"
    "        {{- ' ' + message['content'] + '\\n' -}}\n"
    "    {%- endif -%}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}{{- 'Assistant:' -}}{%- endif -%}\n"
)
"""For a model whose vocabulary has no tokens for roles: their names as words."""


class Message(NamedTuple):
    """A turn of a conversation, and whose it is."""

    role: str
    content: str


class Written(NamedTuple):
    """A conversation as text, and the characters [start, end) of it that the template says the model writes."""

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ChatTemplates:
    """The templates of a model by their names, and the special tokens that they may write (`eos_token` …). A template
    is a program of a stranger: it runs in a sandbox (`text/sandbox.py`) without files and with a limit on its work.
    """

    texts: Mapping[str, str]
    tokens: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str | None = None) -> ChatTemplate:
        """The template of this name, by default that which is called so, or the only one; raises ConfigError."""
        if name is None:
            name = DEFAULT if DEFAULT in self.texts else next(iter(self.texts)) if len(self.texts) == 1 else None
        if name is None or name not in self.texts:
            known = ", ".join(self.texts)
            raise ConfigError(
                f"a chat template of the model is needed, one of: {known}",
                got="none named" if name is None else repr(name)[:60],
                do=did_you_mean(name, self.texts) if name else "name one with template=, --template",
            )
        return ChatTemplate(self.texts[name], self.tokens)


@dataclass(frozen=True)
class ChatTemplate:
    """One template, compiled when it is first used."""

    text: str
    tokens: Mapping[str, str]

    @cached_property
    def _compiled(self) -> tuple[Sandbox, Any]:
        from jinja2 import TemplateError

        from glassformer.text.sandbox import Sandbox  # here, as only chat needs Jinja

        if len(self.text) > _LONGEST:
            raise _unfit(f"one of {len(self.text):,} characters")
        sandbox = Sandbox()
        try:
            return sandbox, sandbox.compiled(self.text)
        except (TemplateError, SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise _unfit(_reason(error)) from None

    def written(self, messages: Sequence[Message], *, ask: bool, **values: object) -> Written:
        """The conversation as text; with `ask` up to where the assistant's next turn begins. `values` are further
        variables of the template. Raises DataError where the template refuses such a conversation, CheckpointError for
        a template that cannot be read, is wrong, reads files or does not end.
        """
        from glassformer.text.sandbox import RefusedError

        sandbox, template = self._compiled
        given = {
            **self.tokens,
            "messages": [each._asdict() for each in messages],
            "tools": None,
            "documents": None,
            "add_generation_prompt": ask,
            **values,
        }
        try:
            text, spans = sandbox.rendered(template, given)
        except RefusedError as error:
            raise DataError("the model's chat template must take this conversation", got=str(error)) from None
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # whatever a stranger's program runs into
            raise _unfit(_reason(error)) from None
        return Written(text, tuple(spans))


def _unfit(got: str) -> CheckpointError:
    return CheckpointError(
        "the model's chat template must write a conversation, without files and within its limits", got=got
    )


def _reason(error: BaseException) -> str:
    line = getattr(error, "lineno", None)
    said = " ".join(str(getattr(error, "message", None) or error).split()) or type(error).__name__
    return f"{said[:300]}{f' (line {line})' if line else ''}"


def own_templates(tokenizer: Tokenizer) -> ChatTemplates:
    """The template by which a model learns here to chat: with tokens for the roles where its vocabulary has them."""
    has_marks = all(tokenizer.id(mark) is not None for mark in MARKS.values())
    return ChatTemplates({DEFAULT: WITH_MARKS if has_marks else WITH_NAMES}, template_tokens(tokenizer))


def template_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens by the names that templates call them."""
    named = ((theirs, getattr(tokenizer.special, ours)) for theirs, ours in FOREIGN_ROLES.items())
    return {theirs: token for theirs, token in named if token is not None}


def read_templates(directory: Path, tokenizer: Tokenizer) -> ChatTemplates | None:
    """The chat templates in a folder of Hugging Face, None where there are none. As in transformers files of their own
    count, else the settings of the tokenizer. Raises CheckpointError for what cannot be read.
    """
    found: dict[str, str] = {}
    if (directory / FILE).is_file():
        found[DEFAULT] = _read(directory / FILE)
    for path in sorted((directory / FOLDER).glob("*.jinja")):
        found[path.stem] = _read(path)
    settings = directory / SETTINGS
    said: Any = None
    if not found and settings.is_file():
        try:
            values = read_json(settings)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{settings} must be JSON", got=f"an error: {error}"[:200]) from None
        said = values.get("chat_template") if isinstance(values, dict) else None
        if isinstance(said, list):
            pairs = [(each.get("name"), each.get("template")) for each in said if isinstance(each, dict)]
            said = dict(pairs) if len(pairs) == len(said) else repr(said)
        elif isinstance(said, str):
            said = {DEFAULT: said}
        if said is not None and not (
            isinstance(said, dict) and said and all(isinstance(part, str) for pair in said.items() for part in pair)
        ):
            raise CheckpointError(
                f"chat_template in {settings} must be a text, or a list of names and templates", got=repr(said)[:80]
            )
        found = said or {}
    return ChatTemplates(found, template_tokens(tokenizer)) if found else None


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > 4 * _LONGEST:
            raise CheckpointError(f"{path} must be a chat template", got=f"{path.stat().st_size:,} bytes")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} must be a text in UTF-8", got=str(error)[:200]) from None


def write_templates(folder: Path, templates: ChatTemplates) -> None:
    """Write them where transformers reads them: one as a file, several into the settings of the tokenizer."""
    if tuple(templates.texts) == (DEFAULT,):
        (folder / FILE).write_text(templates.texts[DEFAULT], encoding="utf-8")
        return
    path = folder / SETTINGS
    values = json.loads(path.read_text(encoding="utf-8"))
    values["chat_template"] = [{"name": name, "template": text} for name, text in templates.texts.items()]
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
