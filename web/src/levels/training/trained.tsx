/** The loss, and at each kept step what the model guessed and what its heads did. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { link, state } from "../../address/state.ts";
import { grouped, short } from "../../numbers/written.ts";
import { baselinesOf, evaluatedAt, type Record, type Told } from "../../run/training.ts";
import { usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure } from "../../views/picture.tsx";
import { Spots } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { curveScene } from "./curve_scene.ts";
import { choose, columnsOf, lost, PINS, pinned, placeInHand } from "./followed.ts";
import { Guesses } from "./guesses.tsx";
import { HeadsThen } from "./heads_then.tsx";
import { HowTo } from "./how_to.tsx";
import { Scrubber } from "./scrubber.tsx";
import { TrainingTable } from "./training_table.tsx";

export { Numbers } from "./step_numbers.tsx";

export function Training({ told }: { told: Told }): VNode {
  const { box, width } = useWidth();
  const palette = usePalette();
  const { formulas } = useStore().names.run;
  const { records } = told;
  const { options } = state.value;
  const log = !options.includes("linear");
  const record = records[placeInHand(records)];
  const pins = PINS.flatMap((name) => {
    const step = pinned(state.value, name);
    return step === null ? [] : [{ name, step }];
  });
  const kept = pins.map(({ name, step }) => `${name}${step}`).join();
  const drawn = useMemo(() => {
    return width === 0 ? null : curveScene(told, { palette, measure, log, pins }, width, width < 600 ? 220 : 260);
  }, [told, palette, log, kept, width]);
  const columns = columnsOf(records, state.value);
  const moved = (id: string): void =>
    choose(
      records,
      records.findIndex(({ step }) => String(step) === id),
    );
  const axis = (name: string, linear: boolean): VNode => (
    <a
      href={link({ options: [...options.filter((each) => each !== "linear"), ...(linear ? ["linear"] : [])] })}
      aria-current={log !== linear}
    >
      {name}
    </a>
  );
  return (
    <div class="training">
      <h1 class="answer">{headline(told, record)}</h1>
      <p class="beneath">{beneath(told, record)}</p>
      {told.saved && formulas.length === 0 && (
        <p class="says plain">
          {say`The training has ended and the model is saved.`}{" "}
          <button type="button" class="undo" onClick={() => location.reload()}>
            {say`Open the model`}
          </button>
        </p>
      )}
      {lost.value !== "" && <p class="wrong">{say`Nothing new comes any more: ${lost.value}`}</p>}
      {told.damaged > 0 && <p class="wrong">{say`${told.damaged} records in the file are damaged and left out.`}</p>}
      <p class="controls">
        <span class="quiet">{say`steps`}</span> {axis(say`by their logarithm`, false)} {axis(say`even`, true)}
      </p>
      <div ref={box}>
        {drawn !== null && (
          <Spots
            scene={drawn.scene}
            spots={drawn.spots}
            label={say`The loss over the steps. Arrow keys move from record to record.`}
            inHand={String(record?.step ?? "")}
            onMove={moved}
            onOpen={moved}
          />
        )}
      </div>
      {told.watched === null || records.length === 0 ? (
        <>
          <p class="says plain">
            {say`No sentences were watched in this training: of what it guessed nothing was kept.`}
          </p>
          <HowTo />
        </>
      ) : (
        <>
          <div class="sentences-watched" data-columns={columns.length}>
            {told.watched.sentences.map((sentence, index) => (
              <Guesses key={sentence.text} sentence={sentence} index={index} columns={columns} />
            ))}
          </div>
          <HeadsThen watched={told.watched} columns={columns} />
        </>
      )}
      <TrainingTable told={told} />
      {records.length > 0 && <Scrubber records={records} />}
    </div>
  );
}

/** Where the model is at the step in hand. */
function headline(told: Told, record: Record | undefined): string {
  const end = told.steps === null ? "" : say` of ${grouped(told.steps)}`;
  const [step, loss] = record === undefined ? (told.curve.points.at(-1) ?? [0, null]) : [record.step, record.loss];
  return loss === null ? say`Before the first step` : say`After step ${grouped(step)}${end}: loss ${short(loss)}`;
}

/** The held-out loss compared with what is reached without looking at the text; and whether the guesses look at it. */
function beneath(told: Told, record: Record | undefined): string {
  const step = record?.step ?? Number.POSITIVE_INFINITY;
  const evaluated = evaluatedAt(told, step);
  const measured = evaluated?.["loss"];
  const [baseline] = baselinesOf(told);
  const parts: string[] = [];
  if (evaluated === undefined || typeof measured !== "number") {
    const never = told.evaluated.length === 0 && !told.running;
    parts.push(never ? say`Nothing was measured on a held-out part.` : say`Not yet measured on the held-out part.`);
  } else {
    const name = baseline?.name.replaceAll("_", " ");
    const beside =
      baseline === undefined
        ? ""
        : measured < baseline.loss
          ? say`, below the ${name} loss ${short(baseline.loss)}`
          : say`, not below the ${name} loss ${short(baseline.loss)}`;
    parts.push(say`Held-out loss ${short(measured)} after step ${grouped(evaluated.step)}${beside}.`);
  }
  const places =
    record?.sentences?.flatMap(({ places }) => places.map((place) => place.map(([text]) => text).join(" "))) ?? [];
  const same = told.task !== "translate" && places.length > 1 && new Set(places).size === 1;
  if (same) parts.push(say`The guesses are the same everywhere: the words around make no difference yet.`);
  return parts.join(" ");
}
