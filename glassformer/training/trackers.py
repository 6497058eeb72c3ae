"""Trackers: programs that show the lines of `metrics.jsonl` as curves, and go on with them when a run is resumed."""

import importlib
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import MissingExtraError, TrainingError
from glassformer.base.json_text import read_json
from glassformer.runtime.device import Log

# What the trackers write into the folder of a run.
TENSORBOARD, MLFLOW_DATABASE, MLFLOW_RUN = "tensorboard", "mlflow.db", "mlflow.json"
_EXPERIMENT = "glassformer"


class Tracker(Protocol):
    """Takes the numbers of each line, by name, and the step that they follow."""

    def see(self, line: Mapping[str, Any], step: int) -> None: ...

    def close(self, *, finished: bool) -> None: ...


class TensorBoard:
    """Event files in the folder `tensorboard` of a run; each line is written at once, as in `metrics.jsonl`."""

    def __init__(self, folder: Path, step: int) -> None:
        try:
            writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter
        except ImportError:
            raise MissingExtraError("tensorboard", extra="tensorboard") from None
        # Readers drop what was written at this step or later: that of steps which will be done again.
        self._writer: Any = writer(str(folder / TENSORBOARD), purge_step=step + 1 if step else None)

    def see(self, line: Mapping[str, Any], step: int) -> None:
        for name, value in line.items():
            if value is not None:
                self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self, *, finished: bool) -> None:
        self._writer.close()


class MLflow:
    """A run in MLflow: on the server of MLFLOW_TRACKING_URI, else in a database in the folder of the run.

    MLflow keeps all values of a step, so that a resumed run sends only what is not there yet: up to then it computes
    the same. A server that fails ends the tracking, not the training.
    """

    def __init__(self, client: Any, run: str, last: int, log: Log) -> None:
        self._client, self._run, self._last, self._log = client, run, last, log
        self._failed = False

    @classmethod
    def begin(cls, folder: Path, step: int, log: Log) -> Self:
        # glassformer sends nothing that it is not asked to send, and neither shall a library that it calls.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")  # else it reports each table of its database
        try:
            client_of = importlib.import_module("mlflow").MlflowClient
        except ImportError:
            raise MissingExtraError("mlflow", extra="mlflow") from None
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(folder / MLFLOW_DATABASE).resolve().as_posix()}"
        kept = folder / MLFLOW_RUN
        known = _known_run(kept) if step else None
        try:
            client = client_of(tracking_uri=uri)
            if known is None:
                run = client.create_run(_experiment(client, folder), run_name=folder.resolve().name).info.run_id
                with atomic_write(kept) as draft:
                    draft.write_text(f'{{"run": "{run}"}}\n', encoding="utf-8")
                return cls(client, run, 0, log)
            client.update_run(known, status="RUNNING")
            last = max((each.step for each in client.get_metric_history(known, "loss")), default=0)
            return cls(client, known, last, log)
        except Exception as error:  # of MLflow, its database, or the network: it has no common base
            raise TrainingError(
                f"MLflow must answer at {uri}",
                got=_first_line(error),
                do="check MLFLOW_TRACKING_URI, or leave --track out",
            ) from None

    def see(self, line: Mapping[str, Any], step: int) -> None:
        if self._failed or step <= self._last:
            return
        metric, now = importlib.import_module("mlflow.entities").Metric, int(time.time() * 1000)
        known = {name: value for name, value in line.items() if value is not None and math.isfinite(value)}
        self._asked(lambda: self._client.log_batch(self._run, [metric(*of, now, step) for of in known.items()]))

    def close(self, *, finished: bool) -> None:
        if not self._failed:
            self._asked(lambda: self._client.set_terminated(self._run, "FINISHED" if finished else "KILLED"))

    def _asked(self, call: Any) -> None:
        try:
            call()
        except Exception as error:
            self._failed = True
            self._log(f"MLflow does not answer ({_first_line(error)}): metrics.jsonl goes on without it")


def trackers(names: Sequence[str], folder: Path, step: int, log: Log) -> list[Tracker]:
    """The trackers of a run. Raises MissingExtraError, and TrainingError if MLflow does not answer."""
    found: list[Tracker] = []
    if names:
        folder.mkdir(parents=True, exist_ok=True)
    if "tensorboard" in names:
        found.append(TensorBoard(folder, step))
    if "mlflow" in names:
        found.append(MLflow.begin(folder, step, log))
    return found


def _known_run(kept: Path) -> str | None:
    try:
        return str(read_json(kept)["run"]) if kept.exists() else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            f"{kept} must name the run in MLflow", got=str(error), do="delete it, and a new one begins"
        ) from None


def _experiment(client: Any, folder: Path) -> str:
    found = client.get_experiment_by_name(_EXPERIMENT)
    if found is not None:
        return str(found.experiment_id)
    # Else MLflow would make a folder where the command was started.
    own = {} if os.environ.get("MLFLOW_TRACKING_URI") else {"artifact_location": (folder / "mlflow").resolve().as_uri()}
    return str(client.create_experiment(_EXPERIMENT, **own))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
