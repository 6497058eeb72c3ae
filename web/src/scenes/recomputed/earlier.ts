/** What the decoder computed one step earlier, when its last word was not there yet. */

import { operandsOf } from "../../formulas/evaluator.ts";
import { Recomputer } from "../../formulas/recompute.ts";
import { sizeOf, type Tensor } from "../../numbers/safetensors.ts";
import type { Formula } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";

export interface Earlier {
  /** The keys that were computed then. */
  readonly was: Tensor | undefined;
  /** The largest difference of a key or a value of a word that stood there already. */
  readonly apart: number;
  /** The largest of them, by size. */
  readonly largest: number;
  readonly compared: number;
}

/** More weights than this are not computed with while someone waits. */
const WEIGHTS = 4e6;

/** The keys of the second block, or of the only one: there a word has been mixed with others before. */
export function keysOf(s: Scout): string {
  const at = `${s.stack}.blocks.${Math.min(1, s.blocks - 1)}.self_attention`;
  return s.has(`${at}.key_rotated`) ? `${at}.key_rotated` : `${at}.key`;
}

/** The formulas on the way to those keys and values. */
function way(s: Scout): Formula[] {
  const { formulas } = s.names.run;
  const end = formulas.findIndex(({ name }) => name === keysOf(s).replace(/key\w*$/, "scores"));
  return formulas.slice(0, end).filter(({ name }) => name.startsWith(`${s.stack}.`));
}

export function earlierReads(s: Scout): string[] {
  const formulas = way(s);
  const names = formulas.flatMap(({ name, rule }) => [name, ...operandsOf(rule).map(([, operand]) => operand.name)]);
  return [...new Set(names)];
}

export function tooLarge(s: Scout): boolean {
  const { weights } = s.names.run;
  return earlierReads(s).reduce((sum, name) => sum + sizeOf(weights[name] ?? [0]), 0) > WEIGHTS;
}

/** Why there is no such picture; null where there is. */
export function noEarlier(s: Scout): string | null {
  const d = s.beside("decoder");
  if (!d.attends || !d.writes || d.tokens < 2) {
    return say`It needs a decoder and two words: glassformer explain en-fr "I am a student." --html page.html`;
  }
  return tooLarge(d) ? say`This model is too large to be computed again in a page.` : null;
}

const known = new WeakMap<Scout, Earlier>();

/** Needs what `earlierReads` names. */
export function earlierOf(s: Scout): Earlier {
  let found = known.get(s);
  if (found === undefined) {
    found = computed(s);
    known.set(s, found);
  }
  return found;
}

function computed(s: Scout): Earlier {
  const { run } = s.names;
  const formulas = way(s);
  for (const name of earlierReads(s)) s.tensor(name);
  const given = (name: string): Tensor | undefined => {
    const [tensor, fact] = [s.fetch(name), run.facts[name]];
    const axis = fact?.side === s.side ? fact.axes.indexOf("token") : -1;
    return tensor === undefined || axis < 0 ? tensor : first(tensor, axis, s.tokens - 1);
  };
  const tensors = new Recomputer(run, s.fetch).compute({ ...run, formulas }, given);
  const keys = keysOf(s);
  let [apart, largest, compared] = [0, 0, 0];
  for (const name of [keys, keys.replace(/key\w*$/, "value")]) {
    const [now, then] = [
      first(s.tensor(name), s.names.axes(name).indexOf("key"), s.tokens - 1).data,
      tensors.get(name)?.data,
    ];
    compared += now.length;
    for (let at = 0; at < now.length; at++) {
      apart = Math.max(apart, Math.abs((now[at] ?? 0) - (then?.[at] ?? 0)));
      largest = Math.max(largest, Math.abs(now[at] ?? 0));
    }
  }
  return { was: tensors.get(keys), apart, largest, compared };
}

/** The first steps of a tensor along an axis. */
function first({ shape, data }: Tensor, axis: number, count: number): Tensor {
  const size = shape[axis] ?? 1;
  const inner = sizeOf(shape.slice(axis + 1));
  return {
    shape: shape.map((each, place) => (place === axis ? count : each)),
    data: Array.from(data).filter((_, at) => Math.floor(at / inner) % size < count),
  };
}
