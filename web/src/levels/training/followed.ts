/** What is known of the training, followed while it goes on, and the step that is looked at. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go, type State, state } from "../../address/state.ts";
import { joined, placeOf, type Record, type Told } from "../../run/training.ts";
import { problemOf } from "../../sources/refused.ts";
import type { Source } from "../../sources/source.ts";
import { useStore } from "../../views/hooks.ts";

/** What the server has sent; null while nothing has come, undefined where nothing is known. */
export const told = signal<Told | null | undefined>(null);
/** Why nothing new comes. */
export const lost = signal("");
/** The step in hand while the address does not say it yet: it is written when the hand rests. */
const moving = signal<number | null>(null);

/** How long the page waits before it asks for what is new, and how long a hand rests, in milliseconds. */
const [PATIENCE, REST] = [2000, 250];

/** The model that is followed. */
let followed: string | Source = "";

/** Asks for the training, and again while it goes on and the page is seen. */
export function useTraining(): void {
  const { source } = useStore();
  const model = state.value.model;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = true;
    const key = "offers" in source ? model : "page";
    if (followed !== key) {
      followed = key;
      told.value = null;
    }
    const ask = async (): Promise<void> => {
      if (document.hidden) return later();
      try {
        const now = (await source.training?.(told.value?.mark ?? "")) as Told | undefined;
        if (!current) return;
        told.value = now === undefined ? undefined : joined(told.value ?? null, now);
        lost.value = "";
      } catch (error) {
        lost.value = problemOf(error);
        if (told.value === null) told.value = undefined;
      }
      if (told.value?.running === true) later();
    };
    const later = (): void => {
      if (current) timer = setTimeout(() => void ask(), PATIENCE);
    };
    if (told.value === null || told.value?.running === true) void ask();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [source, model]);
}

let resting: ReturnType<typeof setTimeout> | undefined;

/** Puts a record in hand; the last one is followed while more come. */
export function choose(records: readonly Record[], place: number): void {
  const last = records.length - 1;
  const at = Math.min(Math.max(place, 0), last);
  moving.value = records[at]?.step ?? 0;
  clearTimeout(resting);
  resting = setTimeout(() => {
    // A browser takes few changes of an address in a second.
    go({ at: at === last ? [] : [records[at]?.step ?? 0] }, true);
    moving.value = null;
  }, REST);
}

/** The place of the record in hand. */
export function placeInHand(records: readonly Record[]): number {
  const step = moving.value ?? state.value.at[0];
  return step === undefined ? records.length - 1 : placeOf(records, step);
}

export type Pin = "A" | "B";
export const PINS: readonly Pin[] = ["A", "B"];

/** The step that is kept under a letter. */
export function pinned({ options }: State, pin: Pin): number | null {
  const found = options.find((each) => each.startsWith(`${pin}.`));
  return found === undefined ? null : Number(found.slice(2));
}

/** The options with a step kept under a letter, or with none. */
export function withPin(options: readonly string[], pin: Pin, step: number | null): string[] {
  const others = options.filter((each) => !each.startsWith(`${pin}.`));
  return step === null ? others : [...others, `${pin}.${step}`];
}

/** The record in hand and those that are kept, with what they are called, in the order of A, B, the one in hand. */
export function columnsOf(
  records: readonly Record[],
  now: State,
): { readonly name: string; readonly record: Record }[] {
  const kept = PINS.flatMap((pin) => {
    const step = pinned(now, pin);
    const record = step === null ? undefined : records[placeOf(records, step)];
    return record === undefined ? [] : [{ name: `${pin}: `, record }];
  });
  const record = records[placeInHand(records)];
  return record === undefined ? kept : [...kept, { name: "", record }];
}
