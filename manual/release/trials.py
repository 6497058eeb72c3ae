"""What shows that an extra works when it is the only one installed, and that types can be used from outside."""

RUN = """
import json, subprocess, sys
from pathlib import Path

def glassformer(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "glassformer", *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done

words = ("summer", "winter", "sea", "city")
Path("texts.txt").write_text("\\n".join(f"She likes the {word} better." for word in words))
facts = json.loads(glassformer("doctor", "--json").stdout)
"""
_TRACK = """
glassformer("train", "slides", "--steps", "10", "--track", {name!r}, "--out", "run")
glassformer("train", "slides", "--steps", "20", "--track", {name!r}, "--out", "run", "--resume")
"""
TRIALS = {
    # The hub cannot be reached from everywhere; that the package is found shows in what is said of a model.
    "hub": RUN + 'said = glassformer("info", "hub:no-one/nothing", code=2).stderr\nassert "pip install" not in said\n',
    "tensorboard": RUN
    + _TRACK.format(name="tensorboard")
    + """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator("run/tensorboard")
board.Reload()
assert [each.step for each in board.Scalars("loss")] == [10, 20]
""",
    "mlflow": RUN
    + _TRACK.format(name="mlflow")
    + """
from mlflow import MlflowClient
client = MlflowClient("sqlite:///run/mlflow.db")
run = json.loads(Path("run/mlflow.json").read_text())["run"]
assert [each.step for each in client.get_metric_history(run, "loss")] == [10, 20]
""",
    "serve": RUN
    + """
import time, urllib.request, socket
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
server = subprocess.Popen([sys.executable, "-m", "glassformer", "serve", "slides", "--port", str(port)])
try:
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
                assert answer.status == 200
                break
        except OSError:
            time.sleep(0.5)
    else:
        raise SystemExit("no answer")
finally:
    server.terminate()
    server.wait()
""",
    "notebook": RUN
    + """
import glassformer as gf
from glassformer.page.widget import *
import anywidget
assert gf.load("slides").trace("She [MASK] the summer better")
""",
    "faiss": RUN
    + """
glassformer("search", "build", "sentences", "texts.txt", "--out", "index")
import glassformer as gf
from glassformer.features.search import nearest
import faiss
assert glassformer("search", "ask", "index", "the sea").stdout
""",
    "sentencepiece": RUN
    + """
import io, sentencepiece
model = io.BytesIO()
lines = iter(["she likes the summer", "he likes the sea"] * 9)
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=lines, model_writer=model, vocab_size=24, hard_vocab_limit=False
)
pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).encode("she likes the sea", out_type=str)
assert "".join(pieces) == "▁she▁likes▁the▁sea"
import glassformer.text.load
""",
    "ray": RUN
    + """
Path("masked.txt").write_text("She [MASK] [MASK] summer better\\n" * 4)  # a full stop is no word of slides
glassformer("fill", "slides", "--file", "masked.txt", "--ray", "--out", "answers.jsonl")
assert len(Path("answers.jsonl").read_text().splitlines()) == 4
""",
    "fast": RUN
    + """
texts = "\\n".join(["I am a student.", "Go.", "She likes the summer."] * 4)
Path("english.txt").write_text(texts)
plain = glassformer("translate", "en-fr", "--file", "english.txt", "--engine", "torch")
fast = glassformer("translate", "en-fr", "--file", "english.txt", "--engine", "ctranslate2")
assert plain.stdout == fast.stdout and plain.stdout.count("\\n") == 12
""",
    "onnx": RUN
    + """
glassformer("export", "sentences", "onnx-folder", "--to", "onnx")
assert list(Path("onnx-folder").glob("*.onnx"))
""",
}
"""A program for each extra that people install; it fails with an exception."""

OUTSIDE = '''"""A project that uses glassformer's types."""

from pathlib import Path

import glassformer as gf


def fill(model: gf.Model, text: str) -> list[str]:
    return [guess.word for guess in model.fill(text, top=3).masks[0].guesses]


def explain(model: gf.Model, text: str) -> bool:
    trace: gf.Trace = model.trace(text)
    return trace.verify().holds


def train(files: list[Path], out: Path) -> gf.Model:
    return gf.train("masked-lm-mini", set={"data.files": [str(file) for file in files]}, out=out)


def label(texts: list[str], kinds: list[str]) -> list[str]:
    classifier = gf.TextClassifier("sentences").fit(texts, kinds)
    return [str(kind) for kind in classifier.predict(texts)]


try:
    english: gf.Model = gf.load("english")
except gf.GlassformerError as error:
    print(error.wanted, error.got, error.do)
else:
    print(fill(english, "She [MASK] the summer better."), explain(english, "She likes it."))
'''
"""Checked by mypy and pyright from outside the repository."""

WRONG = """wrong: int = english.fill("She [MASK].").text + 1
"""
"""A line that both must refuse: a checker that does not find the types of the package would accept it."""
