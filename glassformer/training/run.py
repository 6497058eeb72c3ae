"""A run: its state, machine and folder, and how it begins, is evaluated and is saved; how it ends: `loop.finish`."""

import math
import statistics
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch

from glassformer.base.errors import CheckpointError, ConfigError, NotFiniteError
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log, Machine, choose_machine, unknown_processor
from glassformer.runtime.processes import Processes
from glassformer.runtime.sharing import Sharing
from glassformer.tasks.feed import Feed
from glassformer.training import adapters
from glassformer.training.budget import (
    EVALUATION_ROWS,
    FEW,
    Budget,
    Cadence,
    RunProgress,
    Schedule,
    enough_learned,
    evaluations,
)
from glassformer.training.checkpoint import Checkpoint, Checkpoints, Unwritten, circumstances, differences, weights
from glassformer.training.compiled import LossAndGradient, worth_compiling
from glassformer.training.optimize import Tuned
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.state import SharedCheckpoints, SharedState, State
from glassformer.training.tune import choose

# Steps of an epoch that are sampled for the mean number of tokens: with rows in buckets, steps have different lengths.
_SAMPLED_STEPS = 32
# What an evaluation finds out: only the first process evaluates, and all must know when the run is over.
_JUDGED = ("best", "best_loss", "best_step", "least_loss", "misses")


def to_standard_error(message: str) -> None:
    """The default log: standard error."""
    print(message, file=sys.stderr)


@dataclass
class Run:
    """The state that the loop uses; `out` is the folder of its files. `facts` are compared with those of the checkpoint
    when a run is resumed. `saved_step` is the step of the newest checkpoint, and `saved_best` that of the best model
    which it knows. `evaluated` is how much of the run was done at the last look whether to evaluate, `evaluated_step`
    the step of the last evaluation.
    """

    out: Path
    feed: Feed
    held_out: Feed | None
    settings: TrainSection
    tuned: Tuned
    machine: Machine
    budget: Budget
    schedule: Schedule
    state: State
    checkpoints: Checkpoints
    loss_and_gradient: LossAndGradient
    facts: dict[str, Any]
    log: Log
    processes: Processes
    saved_step: int | None
    saved_best: int
    cadence: Cadence
    evaluated: float = 0.0
    evaluated_step: int = 0

    @classmethod
    def begin(
        cls,
        model: Transformer,
        feed: Feed,
        settings: TrainSection,
        *,
        tune: TuneSection,
        out: Path,
        held_out: Feed | None,
        resume: bool,
        log: Log,
        processes: Processes,
    ) -> Self:
        """Set up the machine, and restore the newest checkpoint when a run is resumed: the first process reads it."""
        check(settings, held_out=held_out is not None)
        machine = choose_machine(settings.device, settings.precision, settings.threads)
        torch.manual_seed(settings.seed)
        if tune.adapters is not None:
            adapters.attach(model, tune.adapters, seed=settings.seed)
        model.to(machine.device, machine.weights).train()
        place_frozen(feed, machine)
        stages = choose(model, tune)
        stages.begin(model)  # the optimizer keeps something for all that is ever trained
        budget = Budget.of(settings, feed.steps_per_epoch)
        # Only a mean of checkpoints needs them at chosen steps, see `loop.finish`; otherwise any checkpoint counts.
        every = settings.checkpoint_every or 1 if settings.average else 1
        keep, folder = max(settings.keep, settings.average or 0), out / "checkpoints"
        state: State
        checkpoints: Checkpoints
        if isinstance(processes, Sharing):
            settings = settings.model_copy(update={"compile": "off"})  # FSDP2's hooks break the graph
            state = SharedState.of(model, settings, machine.products, processes)
            checkpoints = SharedCheckpoints(folder, processes, keep=keep, every=every)
        else:
            state = State.fresh(model, settings, tune=tune, products=machine.products, processes=processes)
            checkpoints = (Checkpoints if processes.first else Unwritten)(folder, keep=keep, every=every)
        check_rows(feed, processes.count)
        tokens = statistics.mean(sampled_tokens(feed).values()) / processes.count
        compiled, reason = worth_compiling(settings, budget, model, feed, tokens, machine, stages=len(stages.names))
        facts = circumstances(settings, tune, machine, task=feed.name, data=feed.fingerprint, compiled=compiled)
        facts |= {"processes": processes.count, "held_out": None if held_out is None else held_out.fingerprint}
        found = checkpoints.agreed(_newest(checkpoints, resume=resume))
        if found is not None:
            state.restore(found)
            if settings.compile == "auto":  # as in the first part of the run, so that the result is the same to the bit
                facts["compiled"] = found.facts.get("compiled", compiled)
            if facts["compiled"] != compiled:
                reason = f"{'compiled' if facts['compiled'] else 'not compiled'}, as the run began"
            for difference in differences({"processes": 1, **found.facts}, facts):
                log(f"the result may differ from that of an uninterrupted run: {difference}")
        checkpoints.tidy()
        facts["compiled"] = processes.of_first(facts["compiled"])
        state.copy_of_first(processes)
        log(f"{machine}; {reason}")
        if settings.precision == "auto" and (unknown := unknown_processor(machine.device)):
            log(unknown)
        run = cls(
            out=out,
            feed=feed,
            held_out=held_out,
            settings=settings,
            tuned=Tuned(state.model, tune, stages, log),
            machine=machine,
            budget=budget,
            schedule=Schedule.of(settings, budget),
            state=state,
            checkpoints=checkpoints,
            loss_and_gradient=LossAndGradient(feed, state.model, machine, compiled=facts["compiled"], log=log),
            facts=facts,
            log=log,
            processes=processes,
            saved_step=state.progress.step if found else None,
            saved_best=state.progress.best_step,
            cadence=Cadence(60 * settings.checkpoint_minutes),
            evaluated=budget.fraction(state.progress),
            evaluated_step=state.progress.best_step,
        )
        run.tuned.begin(budget.fraction(state.progress))
        facts["trained_parameters"] = sum(model.get_parameter(name).numel() for name in stages.trained())
        run.keep_best(state.progress.best_step)
        nothing = "no checkpoint to resume, " if resume and found is None else ""
        begins = f"{nothing}{'continuing after' if found else 'starting at'} step {state.progress.step:,}"
        ended = f"the run had already ended, after step {state.progress.step:,}: nothing to train"
        log(f"{feed.name}: {ended if run.over else begins}")
        return run

    @property
    def progress(self) -> RunProgress:
        return self.state.progress

    @property
    def over(self) -> bool:
        """Whether the end is reached, or too many evaluations have found neither a better model nor a lower loss."""
        patience = self.settings.patience
        return self.budget.reached(self.progress) or (patience is not None and self.progress.misses >= patience)

    def evaluate_if_due(self) -> dict[str, float] | None:
        """Evaluate when due and keep the best model; NotFiniteError if the run ends with such a loss."""
        before, self.evaluated = self.evaluated, self.budget.fraction(self.progress)
        every = self.settings.evaluate_every
        rows = self.feed.rows(self.progress.step)
        often = evaluations(self.budget.steps, rows)
        due = int(before * often) < int(self.evaluated * often)
        if due and self.budget.seconds is not None:  # how many steps these will be is not known
            due = enough_learned(self.progress.step - self.evaluated_step, rows)
        if every is not None:
            due = self.progress.step % every == 0
        if self.held_out is None or not (due or self.evaluated >= 1):
            return None
        return self._evaluate()

    def measure_start(self) -> None:
        """Evaluate the weights before the first step, where there is held-out text."""
        if self.held_out is not None:
            count = self._evaluate().get("targets", math.inf)
            self.progress.few = int(count) if count < FEW else 0
            wrong = ", one more counted as wrong" if self.held_out.best != "-loss" else ""
            rule = f"; with fewer than {FEW} held-out examples the loss decides{wrong}"
            rule = rule if self.progress.loss_decides else ""
            self.log(f"step 0, the initial weights: {self.in_words(self.progress.best, self.progress.best_loss)}{rule}")

    def _evaluate(self) -> dict[str, float]:
        self.evaluated_step = self.progress.step
        with self.state.evaluated_model() as model:
            found = self._judge(model) if self.processes.first else {}
        judged = {name: getattr(self.progress, name) for name in _JUDGED}
        scores, judged = self.processes.of_first([found, judged])
        for name, value in judged.items():
            setattr(self.progress, name, value)
        return dict(scores)

    def measured(self, model: Transformer) -> tuple[float, Mapping[str, float]]:
        """The score of a model by which the best is kept, and all of its scores."""
        assert self.held_out is not None
        with self.machine.context():
            scores = self.held_out.evaluate(model, limit=EVALUATION_ROWS)
        return better_if_higher(self.held_out.best, scores), scores

    def _judge(self, model: Transformer) -> Mapping[str, float]:
        assert self.held_out is not None
        found, scores = self.measured(model)
        finite = math.isfinite(found)
        loss = scores.get("loss", math.inf)
        better, least = finite and self.is_better(found, loss), self.progress.least_loss
        # A score may stand still, at 0 for example, while the model learns: its loss then falls.
        falls = math.isfinite(loss) and (least is None or loss < least)
        self.progress.least_loss = loss if falls else least
        self.progress.misses = 0 if better or falls else self.progress.misses + 1
        if better:
            self.progress.best, self.progress.best_loss = found, loss if math.isfinite(loss) else None
            self.progress.best_step = self.progress.step
            self.checkpoints.save(self.progress.step, {"model": weights(model)}, {"scores": scores}, kind="best")
            # A run resumed from the newest checkpoint needs the best model that this checkpoint knows.
            self.keep_best(self.progress.step, self.saved_best)
        if not finite and (self.over or not scores.get("targets", 1)):  # no later step would detect it, or help
            raise NotFiniteError(
                f"a model to keep needs finite numbers: its score after step {self.progress.step:,} is not",
                got=f"{self.held_out.best.removeprefix('-')} {found}",
                do="resume with a lower learning rate, a longer warm-up or precision float32"
                if scores.get("targets", 1)
                else "nothing could be measured: give more text, or hold out more with --validation",
            )
        return scores

    def is_better(self, score: float, loss: float) -> bool:
        """Whether a model is better than the best so far: by its score, of equal ones by its loss; or by this alone."""
        best = self.progress.best
        if best is None or not (score == best or self.progress.loss_decides):
            return best is None or score > best
        assert self.held_out is not None
        return self.progress.has_lower_loss(score, loss, of_probabilities=self.held_out.best != "-loss")

    def agree(self) -> None:
        """All processes use the longest elapsed time, and none compiles where one cannot."""
        progress, own = self.progress, self.loss_and_gradient
        progress.seconds, progress.setup, eager = self.processes.highest(
            progress.seconds, progress.setup, float(not own.compiled)
        )
        if own.compiled and eager:
            own.continue_without()
            self.log("another process could not compile; all continue without")

    def in_words(self, score: float | None, loss: float | None) -> str:
        """What the best model is kept by, in words: its score, and the loss where this decides."""
        assert self.held_out is not None
        assert score is not None
        name = self.held_out.best.removeprefix("-")
        by_loss = self.progress.loss_decides and loss is not None and name != "loss"
        return f"a held-out {f'loss of {loss:.4f} and ' if by_loss else ''}{name} of {abs(score):.4f}"

    @property
    def saving_due(self) -> bool:
        every = self.settings.checkpoint_every
        return self.cadence.due or (every is not None and self.progress.step % every == 0)

    def save(self) -> None:
        """Write a checkpoint, unless this step has one; after the first one, log how long it took."""
        if self.saved_step == self.progress.step:
            return
        tell = self.saving_due and self.cadence.cost is None and not self.over
        self.facts["compiled"] = self.loss_and_gradient.compiled
        facts: Mapping[str, Any] = {**self.facts, "progress": asdict(self.progress)}
        with self.cadence.saving():
            self.checkpoints.save(self.progress.step, self.state.tensors(), facts)
        self.saved_step, self.saved_best = self.progress.step, self.progress.best_step
        self.keep_best(self.saved_best)
        if tell:
            every = self.settings.checkpoint_every
            self.log(
                f"a checkpoint takes {self.cadence.cost:.2f} s: one is written every {self.cadence.interval / 60:.3g} "
                "minutes" + ("" if every is None else f" and every {every:,} steps")
            )

    def keep_best(self, *steps: int) -> None:
        """Remove the best models of other steps, once this run has evaluated one: an older one may be all that is left
        of a run that was killed before its first checkpoint.
        """
        if self.progress.best is not None:
            self.checkpoints.keep_best(*steps)


def better_if_higher(best: str, scores: Mapping[str, float]) -> float:
    """The score that chooses the best model, negated for `-loss`; ConfigError for an unknown name."""
    name = best.removeprefix("-")
    if name not in scores:
        raise ConfigError("the best model is kept by one of its scores", got=repr(name), do=", ".join(scores))
    return -scores[name] if best.startswith("-") else scores[name]


def place_frozen(feed: Feed, machine: Machine) -> None:
    """Put the models of a feed that are not trained on the machine: in eval mode, without gradients."""
    for other in feed.frozen.values():
        other.to(machine.device, machine.weights).eval().requires_grad_(False)


def sampled_tokens(feed: Feed) -> dict[int, int]:
    """The tokens of steps that are spread over the first epoch, by step: the same when a run is resumed."""
    epoch = max(1, math.ceil(feed.steps_per_epoch))
    return {step: feed.batch(step).tokens for step in range(0, epoch, math.ceil(epoch / _SAMPLED_STEPS))}


def check_rows(feed: Feed, processes: int) -> None:
    """Raise ConfigError where a step has fewer rows than there are processes."""
    if feed.fewest_rows < processes:
        raise ConfigError(
            f"each of {processes} processes needs a row of every step",
            got=f"steps of {feed.fewest_rows}",
            do="raise train.batch or train.batch_tokens, or start fewer processes",
        )


def _newest(checkpoints: Checkpoints, *, resume: bool) -> Checkpoint | None:
    if resume:
        return checkpoints.newest()
    if checkpoints:
        raise CheckpointError(
            "a new run needs its own folder",
            got=f"{checkpoints.folder}, which holds another run's checkpoints",
            do="continue with --resume (in Python resume=True), choose another folder, or delete it",
        )
    return None


def check(settings: TrainSection, *, held_out: bool) -> None:
    """Refuse impossible settings before any file is read; `held_out`: there is text to evaluate on."""
    Schedule.of(settings, Budget.of(settings, steps_per_epoch=1.0))
    if settings.batch_tokens is None and settings.batch < settings.accumulate:
        raise ConfigError(
            "train.accumulate cuts a batch into parts", got=f"{settings.batch} rows for {settings.accumulate}"
        )
    if settings.average is not None and settings.checkpoint_every is None:
        raise ConfigError("train.average needs checkpoints at regular steps", do="set train.checkpoint_every")
    if settings.patience is not None and not held_out:
        raise ConfigError("train.patience needs held-out text", do="set data.validation")
