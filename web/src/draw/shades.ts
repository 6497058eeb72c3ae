/** What the colours of cells say, in one sentence. */

import { lastOf } from "../formulas/names.ts";
import { say } from "../words/say.ts";
import { SIGNED } from "./draw_box.ts";
import type { Panel } from "./scene.ts";

/** Shares, and what is 0 or 1: never below 0. */
const NEVER: readonly string[] = ["weights", "probabilities", "may_look"];

/** A number below 0 bears a stroke where its cell has room for one. */
export function shades(panels: readonly Panel[]): string {
  const below = panels.filter(({ tensor }) => !NEVER.includes(lastOf(tensor)));
  const signed = below.filter(({ w, h, rows, columns }) => Math.min(w / columns, h / rows) >= SIGNED);
  const said = say`The stronger a cell’s colour, the further its number is from 0`;
  if (below.length === 0) return `${said}.`;
  if (signed.length === 0) return say`${said}; point at it for its sign.`;
  return say`${said}; –: below 0${signed.length < below.length ? say`, where there is room for it` : ""}.`;
}

export const RED = say`Red: a word that was hidden from the model.`;
