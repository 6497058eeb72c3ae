"""A conversation in the terminal: commands, files that keep it, Ctrl-C within a reply, a reader that is gone."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.answering import answers as verbs
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.ask.conversation import converse, load_turns, save_turns
from glassformer.cli.ask.show import on_screen
from glassformer.cli.terminal.streams import ReaderGoneError
from glassformer.decode.options import WritingOptions
from glassformer.tasks.writing.chat.settings import ChatSection
from glassformer.tasks.writing.translate.settings import TranslateSection
from tests.talkers import talking
from tests.translators import translating

GREEDY = WritingOptions(beams=1, max_tokens=6)
Talk = Callable[..., str]


class Typed(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    """What a conversation with these lines writes."""

    def held(model: gf.Model, *lines: str, typed: bool = False, kept: Path | None = None, **options: Any) -> str:
        given = "".join(f"{line}\n" for line in lines)
        monkeypatch.setattr("sys.stdin", Typed(given) if typed else io.StringIO(given))
        handle = io.StringIO()
        converse(model, replace(GREEDY, **options), handle, kept=kept)
        return handle.getvalue()

    return held


def replying() -> gf.Model:
    """An encoder–decoder, as if it had been trained to chat."""
    bare = translating()
    return gf.Model(bare.module, bare.tokenizer, task=ChatSection(), length=bare.length)


@pytest.mark.parametrize("model", [talking(), replying()], ids=["decoder", "both"])
def test_a_reply_that_is_cut_off_is_noted(model: gf.Model, talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    for limit in (1, 2):
        capsys.readouterr()
        talk(model, "Hi how are you", max_tokens=limit)
        ended = model.chat("Hi how are you", beams=1, max_tokens=limit).ended
        assert ("cut off" in capsys.readouterr().err) is not ended


@pytest.mark.parametrize("model", [talking(), replying()], ids=["decoder", "both"])
def test_each_line_is_answered_after_those_before_it(model: gf.Model, talk: Talk) -> None:
    one = model.chat("Hi how are you", beams=1, max_tokens=6).reply
    assert one
    two = model.chat(["Hi how are you", one, "Good"], beams=1, max_tokens=6).reply
    found = talk(model, "Hi how are you", "", "Good", "/reset", "Hi how are you", "/quit", "Good")
    assert found.split("\n") == [on_a_line(one), on_a_line(two), on_a_line(one), ""]


def on_a_line(reply: str) -> str:
    return on_screen(reply, io.StringIO(), lines=False)


def test_it_is_saved_and_gone_on_with(tmp_path: Path, talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    model, saved, kept = talking(), tmp_path / "saved.json", tmp_path / "kept.json"
    talk(model, "/load nothing.json", "/save", "/nothing", "Hi", f"/save {saved}", kept=kept)
    output = capsys.readouterr().err
    assert "nothing.json" in output
    assert "/nothing" in output
    assert load_turns(saved) == load_turns(kept) == ["Hi", model.chat("Hi", beams=1, max_tokens=6).reply]
    more = talk(model, "And?", kept=kept)
    assert len(load_turns(kept)) == 4
    assert talk(model, f"/load {saved}", "And?") == more
    kept.write_text(json.dumps({"turns": [""]}), encoding="utf-8")
    with pytest.raises(DataError):
        talk(model, "Hi", kept=kept)


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_quotes_around_the_name_of_a_file_are_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talk: Talk, quote: str
) -> None:
    monkeypatch.chdir(tmp_path)
    talk(talking(), "Hi", f"/save {quote}my chat.json{quote}", "/reset", f"/load  {quote}my chat.json{quote}")
    assert [path.name for path in tmp_path.iterdir()] == ["my chat.json"]
    assert len(load_turns(tmp_path / "my chat.json")) == 2


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b'["Hi", "Hello"]', "a list"),
        (b'{"messages": [], "id": 1}', "'messages'"),
        (b"{}", "nothing"),
        (b"Hi\nHello\n", "line 1"),
        (b'{"turns": "Hi"}', "'Hi'"),
        (b'{"turns": ["Hi", {"role": "user"}]}', "turn 2"),
        (b'{"turns": ["Hi", " "]}', "turn 2"),
        (b'{"turns": ["Hi"]}', "1 turns"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "line 1"),
    ],
)
def test_a_file_of_another_shape_is_recognised_by_what_is_in_it(
    tmp_path: Path, content: bytes, got: str, talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never replaced by a conversation."""
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_turns(path)
    assert str(path) in caught.value.wanted
    assert '{"turns": ["Hi", "Hello"]}' in caught.value.wanted
    assert got in caught.value.got
    assert caught.value.do
    talk(talking(), f"/load {path}", f"/save {path}")
    assert path.read_bytes() == content
    assert capsys.readouterr().err.count("other.json") == 2


@pytest.mark.parametrize("name", ["~/chat.json", "a\0b", "/dev/zero"])
def test_what_is_no_path_of_a_file_is_refused(name: str) -> None:
    for use in (load_turns, lambda path: save_turns(path, [])):
        with pytest.raises(DataError):
            use(Path(name))


def stopped_after(parts: list[str]) -> Callable[..., Iterator[str]]:
    def stream(*_: Any) -> Iterator[str]:
        yield from parts
        raise KeyboardInterrupt

    return stream


def test_what_was_written_of_a_stopped_reply_stays(
    tmp_path: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, kept = talking(), tmp_path / "kept.json"
    monkeypatch.setattr(verbs, "stream_answer", stopped_after(["I am", " fi"]))
    handle = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO("Hi\nmore\n"))
    with pytest.raises(KeyboardInterrupt):  # exit code 130
        converse(model, GREEDY, handle, kept=kept)
    assert handle.getvalue() == "I am fi\n"
    assert load_turns(kept) == ["Hi", "I am fi"]
    saved = tmp_path / "saved.json"
    assert talk(model, "Hi", f"/save {saved}", "/quit", typed=True) == "model: I am fi\n"  # a terminal goes on
    assert load_turns(saved) == ["Hi", "I am fi"]
    assert "stopped" in capsys.readouterr().err
    monkeypatch.setattr(verbs, "stream_answer", stopped_after([]))
    assert talk(model, "Hi", f"/save {saved}", typed=True) == ""
    assert load_turns(saved) == []


def test_a_reader_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise ReaderGoneError("standard output must take the results")

    monkeypatch.setattr("sys.stdin", io.StringIO("Hi\nHi\n"))
    with pytest.raises(ReaderGoneError) as gone:
        converse(talking(), GREEDY, Gone())
    assert gone.value.exit_code == 141


def test_a_turn_that_cannot_be_answered_does_not_end_what_is_typed(
    talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    model = talking()
    assert talk(model, "Hi <|user|>", "Hi", typed=True).count("model: ") == 1
    assert "<|user|>" in capsys.readouterr().err
    with pytest.raises(DataError):
        talk(model, "Hi <|user|>", "Hi")


@pytest.mark.parametrize("typed", [True, False])
def test_bytes_that_are_no_text_end_no_conversation_that_is_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: bool
) -> None:
    class Bytes(io.TextIOWrapper):
        def isatty(self) -> bool:
            return typed

    monkeypatch.setattr("sys.stdin", Bytes(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8"))
    if typed:
        converse(talking(), GREEDY, io.StringIO())
        assert "0xff" in capsys.readouterr().err
    else:
        with pytest.raises(DataError) as caught:
            converse(talking(), GREEDY, io.StringIO())
        assert "0xff" in caught.value.got


def translator() -> gf.Model:
    bare = translating()
    return gf.Model(bare.module, bare.tokenizer, task=TranslateSection(), length=bare.length)


@pytest.mark.parametrize("model", [translator(), gf.load("english")], ids=["translates", "fills"])
def test_a_model_of_another_task_is_refused_in_its_own_words(model: gf.Model) -> None:
    with pytest.raises(ConfigError) as caught:
        model.chat("Hi")
    assert "chat" in caught.value.wanted
    assert "train chat" in caught.value.do
    assert model.config.family in caught.value.got
