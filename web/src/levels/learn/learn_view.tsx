/** The slides' model learns the reader's sentences in the page: its loss, its guesses, its boxes and weights, step by step. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { link, state } from "../../address/state.ts";
import { isWriter } from "../../learn/choice.ts";
import { grouped, power, short } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { plain } from "../../views/plain.ts";
import { say } from "../../words/say.ts";
import { Controls } from "./controls.tsx";
import { Curve } from "./curve.tsx";
import { FiniteDifferences } from "./finite_differences.tsx";
import { back, begin, goTo, type Lesson, lesson, make, play, shown, spoken, tick, wrong } from "./lesson.ts";
import { Lines } from "./lines.tsx";
import { Boxes, LARGE, Weights } from "./pictures.tsx";
import { Sentences } from "./sentences.tsx";

export function LearnView(): VNode {
  const { run } = useStore().names;
  const { options, at } = state.value;
  const can = run.model.family === "slides";
  useEffect(() => {
    if (can) begin(run, options, at);
  }, [run, can]);
  const now = lesson.value;
  if (!can) return <Elsewhere />;
  return (
    <div class="learn">
      {now === null ? (
        <>
          <h1 class="big">{say`Learning`}</h1>
          {wrong.value !== "" && <p class="wrong">{say`This model cannot be trained in the page: ${wrong.value}`}</p>}
        </>
      ) : (
        <Learning now={now} />
      )}
    </div>
  );
}

function Elsewhere(): VNode {
  return (
    <>
      <h1 class="big">{say`Learning in the page`}</h1>
      <p class="says plain">
        {say`The slides’ model of 516 weights can be trained here, step by step, on your own sentences. This page shows another model.`}
      </p>
      <p>
        <a class="strong" href={link({ model: "slides", changes: "", level: "learn", options: [], at: [] })}>
          {say`Open the slides’ model, if this page’s server offers it`}
        </a>
      </p>
    </>
  );
}

function Learning({ now }: { now: Lesson }): VNode {
  void tick.value;
  const { learner } = now;
  const program = shown(now);
  const large = learner.weights.length > LARGE;
  const letters = isWriter(learner.setup.choice.exercise);
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      const own =
        event.key === " " ? "canvas, select, textarea, input, summary, button, a" : "canvas, select, textarea, input";
      if ((event.target as HTMLElement).closest(own) !== null) return;
      if (event.key === " ") play();
      else if (event.key === "ArrowRight") make(1);
      else if (event.key === "ArrowLeft") goTo(learner.step - 1);
      else if (event.key === "Home") goTo(0);
      else if (event.key === "End") goTo(learner.tip);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  return (
    <>
      <h1 class="answer" data-step={learner.step} data-loss={String(program.loss)}>
        {headline(now, program.loss)}
      </h1>
      <p class="beneath">{beneath(now)}</p>
      <p class="away" aria-live="polite">
        {spoken.value}
      </p>
      {learner.stopped !== null && <Stop now={now} />}
      {learner.stopped === null && <Far loss={program.loss} words={now.names.run.words.vocabulary.length} />}
      <Controls now={now} />
      {wrong.value !== "" && (
        <p class="wrong" role="alert">
          {wrong.value}
        </p>
      )}
      <div class="learn-both">
        {letters ? <Lines now={now} /> : <Sentences now={now} />}
        <Curve now={now} loss={program.loss} />
      </div>
      <h2>{large ? say`What its first block computes` : say`Everything it computes`}</h2>
      <p class="quiet label">{say`Click a cell, or press Enter on it: how the loss moves with this number.`}</p>
      <Boxes now={now} />
      <h2>{say`Its ${grouped(program.weights.length)} weights${large && say`: those of the first block`}`}</h2>
      <p class="quiet label">
        {say`Click a weight, or press Enter on it: the gradient that moved it, and the terms of that gradient.`}
      </p>
      <Weights now={now} />
      <FiniteDifferences now={now} />
    </>
  );
}

function headline({ learner }: Lesson, loss: number): string {
  const { step } = learner;
  return step === 0
    ? say`Before the first step: loss ${short(loss)}`
    : say`After step ${grouped(step)}: loss ${short(loss)}`;
}

function beneath(now: Lesson): string {
  const { learner, names } = now;
  const words = names.run.words.vocabulary.length;
  const letters = isWriter(learner.setup.choice.exercise);
  const parts = [
    letters
      ? say`The same probability for each of the ${words} letters would have a loss of ${short(Math.log(words))}.`
      : say`The same probability for each of the ${words} words would have a loss of ${short(Math.log(words))}.`,
  ];
  parts.unshift(say`Loss: how wrong the guesses are (0: certain and right).`);
  if (learner.step > 0) parts.push(say`Each step moves the weights against their gradients, the first by the rate.`);
  const { added } = learner.setup;
  if (added.length > 0)
    parts.unshift(
      added.length === 1
        ? say`A word was not in the model’s table and has a row of its own now: ${added[0]}.`
        : say`${added.length} words were not in the model’s table and have rows of their own now: ${added.join(", ")}.`,
    );
  return parts.join(" ");
}

/** The loss cannot be computed any more. */
function Stop({ now }: { now: Lesson }): VNode {
  const { stopped, before, rate } = now.learner;
  return (
    <p class="wrong" role="alert" data-stopped={stopped?.step}>
      {stopped?.what === "loss"
        ? say`Stopped before step ${(stopped?.step ?? 0) + 1}: the loss is not finite any more.`
        : say`Stopped before step ${(stopped?.step ?? 0) + 1}: the gradient is not finite any more.`}{" "}
      {say`Each step moves a weight by up to about the rate, ${short(rate)}: numbers became too large to be multiplied.`}{" "}
      <button type="button" class="undo" onClick={back}>
        {say`Back to step ${before.step}, with a rate of ${short(before.rate ?? 0.005)}`}
      </button>
    </p>
  );
}

/** So many times the loss of who knows nothing is no learning any more. */
const FAR = 20;

function Far({ loss, words }: { loss: number; words: number }): VNode | null {
  if (loss < FAR * Math.log(words)) return null;
  const size = loss < 1e5 ? short(loss) : power(loss);
  return (
    <p class="wrong">
      {say`The loss is ${size}: the rate is too high, each step overshoots.`}{" "}
      <button type="button" class="undo" onClick={back}>
        {say`Back, with a smaller rate`}
      </button>
    </p>
  );
}
