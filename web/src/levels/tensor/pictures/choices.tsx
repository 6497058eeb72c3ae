/** What pictures share: choices within them, the sentences and words to choose from, the slice as a table. */

import type { VNode } from "preact";
import { go, state } from "../../../address/state.ts";
import type { Sheet } from "../../../draw/sheet.ts";
import { range } from "../../../numbers/arithmetic.ts";
import { say } from "../../../words/say.ts";
import { placeIn } from "../grid_scene.ts";
import { Twin } from "../twin.tsx";
import type { Context, Held } from "./kind.ts";

/** The first of the given options that the address names, else the first of all. */
export function optionOf(offered: readonly string[]): string {
  return offered.find((each) => state.value.options.includes(each)) ?? offered[0] ?? "";
}

/** A choice among options, kept in the address. */
export function Choice({ label, offered }: { label: string; offered: readonly (readonly [string, string])[] }): VNode {
  const values = offered.map(([value]) => value);
  return (
    <label>
      {label}
      <select
        value={optionOf(values)}
        onChange={(event) => {
          const others = state.value.options.filter((each) => !values.includes(each));
          go({ options: [...others, event.currentTarget.value], at: [] }, true);
        }}
      >
        {offered.map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </label>
  );
}

/** More words or places than this are not listed. */
const LISTED = 48;

/** The sentences, each with its words: the one in front and the word that is framed can be chosen. */
export function Sentences({ sheet, cell, names, pick }: Context): VNode | null {
  const axis = sheet.axes.indexOf("sentence");
  // What is the same for all queries has words along its columns alone.
  const along = [sheet.layout.rows, sheet.layout.columns].find((each) => {
    return each !== null && sheet.size(each) > 1 && names.side(sheet.name, each) !== null;
  });
  const [side, words] = [names.side(sheet.name, along ?? ""), sheet.size(along ?? null)];
  const count = sheet.tensor.shape[axis] ?? 0;
  if (axis < 0 || along == null || side === null || words > LISTED) return null;
  const down = sheet.axes.indexOf(along);
  return (
    <div class="sentences">
      {range(count, (sentence) => (
        <p class="line" data-front={cell[axis] === sentence}>
          <span class="away">{cell[axis] === sentence ? say`in front` : say`behind`}</span>
          {range(words, (token) => {
            const { text, hidden } = names.word(side, sentence, token);
            const at = cell.map((index, place) => (place === axis ? sentence : place === down ? token : index));
            return (
              <button
                type="button"
                class={hidden ? "masked" : ""}
                aria-pressed={at.join() === cell.join()}
                onClick={() => pick(at)}
              >
                {text}
              </button>
            );
          })}
        </p>
      ))}
    </div>
  );
}

/** Every place of a tensor but along its last axis, in their order. */
export function placesOf(sheet: Sheet): number[][] {
  return sheet.axes
    .slice(0, -1)
    .reduce<number[][]>(
      (found, axis) => found.flatMap((cell) => range(sheet.size(axis), (index) => [...cell, index])),
      [[]],
    );
}

/** The places to choose from, by their words. */
export function Places({ sheet, cell, names, pick }: Context): VNode | null {
  const places = placesOf(sheet);
  const own = cell.slice(0, -1).join();
  if (places.length < 2 || places.length > LISTED) return null;
  return (
    <div class="sentences">
      <p class="line">
        <span class="quiet">{say`place`}</span>
        {places.map((place) => (
          <button type="button" aria-pressed={place.join() === own} onClick={() => pick([...place, cell.at(-1) ?? 0])}>
            {names.cell(sheet.name, place, sheet.axes.slice(0, -1))}
          </button>
        ))}
      </p>
    </div>
  );
}

/** At most so much of a slice is in the table next to a picture. */
const SHOWN = { rows: 32, columns: 16 };

/** The slice around the cell in hand as a table. */
export function TwinOf({ sheet, cell, sentence }: Held): VNode {
  const [row, column] = placeIn(sheet, cell);
  const [rows, columns] = [Math.min(sheet.rows, SHOWN.rows), Math.min(sheet.columns, SHOWN.columns)];
  return (
    <Twin
      {...{ sheet, base: cell, rows, columns, sentence }}
      row={begin(row, rows, sheet.rows)}
      column={begin(column, columns, sheet.columns)}
    />
  );
}

/** Where a window of `count` begins so that a place stands near its middle. */
export function begin(place: number, count: number, all: number): number {
  return Math.max(Math.min(place - Math.floor(count / 2), all - count), 0);
}
