/** On the left: the model, its texts, its parts and what was changed by hand. */

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { type Level, later, link } from "../address/state.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { Awaited, viewIn } from "../chunks/later.tsx";
import { useSession } from "../edit/session/context.ts";
import { ModelChoice } from "../edit/views/model_choice.tsx";
import { operandsOf } from "../formulas/evaluator.ts";
import type { Names } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import { counted } from "../numbers/written.ts";
import type { RunRecord } from "../record/record.ts";
import { Command } from "../views/command.tsx";
import { useStore } from "../views/hooks.ts";
import { heard, say } from "../words/say.ts";
import { Group } from "./group.tsx";
import { LEVELS, SUMS } from "./levels.ts";

const Changes = viewIn(CHUNKS.rail, (chunk) => chunk.Changes);
const TextFields = viewIn(CHUNKS.rail, (chunk) => chunk.TextFields);
const Compare = viewIn(CHUNKS.rail, (chunk) => chunk.Compare);

export function Rail(): VNode {
  const { names } = useStore();
  const session = useSession();
  const { run } = names;
  const { unit, sentence, level } = later.value;
  const [open, setOpen] = useState(false);
  const units = [...new Set(run.formulas.map((formula) => formula.unit))];
  const complete = units.filter((each) => isComplete(each, run)).map((each) => names.unit(each));
  const together = run.formulas.length <= 30;
  const bare = run.formulas.length === 0 && Object.keys(run.facts).length === 0;
  const texts = Math.max(run.words.inputs.length, run.words.decoder_inputs.length);
  return (
    <aside class="rail drawer" data-open={open} aria-label={say`model and text`}>
      <button type="button" class="handle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="cut">
          <b>{run.title}</b> <Words row={sentence} />
        </span>
        <span class="quiet">{open ? "▴" : "▾"}</span>
      </button>
      <div class="inside">
        <Group title={say`Model`}>
          <ModelChoice />
          {session.engine.offers.length < 2 && <p class="strong">{run.title}</p>}
          {run.model.stacks.map((stack) => (
            <p class="quiet" key={stack.side}>
              {say`${heard(stack.side)}: ${counted(stack.layers, "block")}, ${counted(stack.heads, "head")}, ${stack.width} wide`}
            </p>
          ))}
          {bare && <p class="quiet">{say`still in training`}</p>}
          {run.formulas.length > 0 && <p class="quiet">{counted(run.model.parameters, "weight")}</p>}
        </Group>
        <Group title={texts > 1 ? say`Sentences` : say`Text`} hidden={bare}>
          {range(texts, (row) => (
            <a
              class="choice"
              key={row}
              href={link({ sentence: row, ...moved(names, row) })}
              aria-current={row === sentence}
            >
              {texts > 1 && <span class="quiet">{row} </span>}
              <Words row={row} />
            </a>
          ))}
          {session.engine.words === "text" && <TextFields />}
        </Group>
        <Group title={say`Looked at`} hidden={bare} nav>
          <Entry level="model" text={say`the whole model`} />
          <Entry level="heads" text={say`all heads`} />
          {run.formulas.length > 0 &&
            SUMS.map((each) => <Entry key={each} level={each} text={LEVELS[each].sums ?? ""} />)}
          <Entry level="tree" text={say`how it writes`} />
          <Entry level="training" text={say`how it learned`} />
          <Entry level="learn" text={say`train it here`} />
          {together && (
            <a class="choice" href={link({ level: "block", layout: [] })} aria-current={level === "block"}>
              {say`all tensors`}
            </a>
          )}
        </Group>
        {!together && (
          <Group title={say`A part of it`} hidden={bare} folded={level !== "block" && units.length > 8} nav>
            {units.map((each) => (
              <a
                class="choice"
                key={each}
                href={link({ level: "block", unit: each, layout: [] })}
                aria-current={each === unit && level === "block"}
              >
                {names.unit(each)}
              </a>
            ))}
          </Group>
        )}
        <Group title={say`Workshop`} hidden={bare} nav>
          <Entry level="mask" text={say`Draw a mask`} />
          <Entry level="pictures" text={say`Pictures of the documents`} />
          <Entry level="quiz" text={say`Quiz: ten questions`} />
        </Group>
        <Group title={say`Changes`} hidden={bare}>
          <Changes />
          {CHUNKS.rail.wrong.value !== "" && <Awaited chunk={CHUNKS.rail} />}
        </Group>
        <Group title={say`Compare`} hidden={run.formulas.length === 0}>
          <Compare />
        </Group>
        {Object.keys(run.left_out).length > 0 && (
          <Group title={say`Not in this page`}>
            <p>
              {say`${counted(Object.keys(run.left_out).length, "tensor")} beyond the limit of ${Math.round(run.limit / 1e6)} MB.${complete.length > 0 && say` Every number opens to its operands in: ${complete.join(", ")}.`} A number that reads a missing tensor opens with its formula and its other operands. To include all, write the page again with ${<Command text="--megabytes 64" />}.`}
            </p>
          </Group>
        )}
      </div>
    </aside>
  );
}

/** Whether the page has every number of a part and what it was computed from, of tables the rows that are used. */
function isComplete(unit: string, run: RunRecord): boolean {
  const here = (name: string): boolean => (run.left_out[name] ?? "rows") === "rows";
  return run.formulas
    .filter((formula) => formula.unit === unit)
    .every(({ name, rule }) => here(name) && operandsOf(rule).every(([, operand]) => here(operand.name)));
}

/** What is looked at of the whole run: grey, with the reason, where there is nothing to show. */
function Entry({ level, text }: { level: Level; text: string }): VNode {
  const { source } = useStore();
  const reason = LEVELS[level].lacks?.(source) ?? "";
  return (
    <a
      class="choice"
      href={link({ level, picture: level === "tree" ? "words" : "", options: [], at: [] })}
      aria-current={level === later.value.level}
      data-lacks={reason !== ""}
    >
      {text}
      {reason !== "" && <small>: {reason}</small>}
    </a>
  );
}

/** The cell in hand, moved to another sentence. */
function moved(names: Names, row: number): { cell?: number[] } {
  const place = names.run.places.findIndex(([sentence]) => sentence === row);
  const to = new Map([
    ["sentence", row],
    ["place", place],
  ]);
  const axes = names.axes(later.value.tensor);
  return { cell: later.value.cell.map((index, axis) => Math.max(to.get(axes[axis] ?? "") ?? index, 0)) };
}

function Words({ row }: { row: number }): VNode {
  const { names } = useStore();
  const parts: ComponentChildren[] = [];
  for (const side of ["inputs", "decoder_inputs"] as const) {
    const words = names.run.words[side][row] ?? [];
    if (parts.length > 0 && words.length > 0) parts.push(" → ");
    words.slice(0, 24).forEach((_, token) => {
      const { text, hidden } = names.word(side, row, token);
      parts.push(token > 0 ? " " : "", hidden ? <span class="masked">{text}</span> : text);
    });
    if (words.length > 24) parts.push(say` … ${words.length} tokens`);
  }
  return <>{parts}</>;
}
