/** What the address says of how a text is written, and what the views of a text share while it is. */

import { signal } from "@preact/signals";
import { state } from "../../../address/state.ts";
import type { RunRecord } from "../../../record/record.ts";

/** What is chosen at this level, as the address has it: `beams=8`, `temperature=0.6`, `begins=12.44`, `block=2`, `head=5`. */
export function option(name: string, options: readonly string[] = state.value.options): string {
  return options.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

export function withOption(name: string, value: string, options: readonly string[] = state.value.options): string[] {
  const others = options.filter((each) => !each.startsWith(`${name}=`));
  return value === "" ? others : [...others, `${name}=${value}`];
}

/** The tokens with which the answer of the address begins: what stood before the word from which it was rewritten. */
export function begun(options: readonly string[] = state.value.options): number[] {
  const typed = option("begins", options);
  return /^\d+(\.\d+)*$/.test(typed) ? typed.split(".").map(Number) : [];
}

/** What the model of a run writes; null where it writes nothing. */
export type Written = "translation" | "text" | "reply";

export function writtenBy(run: RunRecord & { readonly writes?: unknown }): Written | null {
  if (!run.model.stacks.some(({ side }) => side === "decoder")) return null;
  if (run.writes === "chat") return "reply";
  return run.model.stacks.some(({ side }) => side === "encoder") ? "translation" : "text";
}

/** Whether the search of the address draws: a writer does unless something else is asked for, a translator does not. */
export function draws(written: Written | null, options: readonly string[] = state.value.options): boolean {
  const draw = option("draw", options);
  return draw === "" ? written !== "translation" : draw === "1";
}

/** At a temperature of 0 nothing is drawn: the likeliest token is taken each time. */
export function isCold(options: readonly string[] = state.value.options): boolean {
  return option("temperature", options) !== "" && Number(option("temperature", options)) === 0;
}

/** Whether what was written is played: a new text plays by itself, and so stands outside of the view that draws it. */
export const playing = signal(false);

export interface Writing {
  readonly busy: boolean;
  /** Why it could not be written; what was there before stays. */
  readonly wrong: string;
  /** Asks for it once more. */
  readonly again: (() => void) | null;
}

export const QUIET: Writing = { busy: false, wrong: "", again: null };

/** What is being written, or why it could not be. */
export const writing = signal<Writing>(QUIET);

/** Whether the system asks for less motion. */
export function isStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
