/** What a view waits for besides tensors: work of its own, and sections that the page carries or a server works out. */

import { useEffect, useState } from "preact/hooks";
import { problemOf } from "../sources/refused.ts";
import type { Source } from "../sources/source.ts";
import { useStore } from "./hooks.ts";

export interface Found<T> {
  /** Until what is asked for is there, the answer before; null: none yet. */
  readonly value: T | null;
  /** Why there is no answer; empty: nothing went wrong. */
  readonly wrong: string;
}

/** Does some work again whenever the run or `key` changes; while `key` is null it waits. */
export function useFound<T>(key: string | null, work: () => Promise<T>): Found<T> {
  const { source } = useStore();
  const [found, setFound] = useState<Found<T>>({ value: null, wrong: "" });
  useEffect(() => {
    let current = key !== null;
    if (!current) return;
    work().then(
      (value) => {
        if (current) setFound({ value, wrong: "" });
      },
      (error: unknown) => {
        if (current) setFound({ value: null, wrong: problemOf(error) });
      },
    );
    return () => {
      current = false;
    };
  }, [source, key]);
  return found;
}

/** In the place of a section that cannot be made of this model, or that this page does not have: then without a reason. */
export interface Lacking {
  readonly reason: string;
}

const sections = new WeakMap<Source, Map<string, Promise<unknown>>>();

/** A section of the run; null while it is waited for, or not wanted yet. */
export function useSection<T extends object>(name: string, wanted = true): T | Lacking | null {
  const { source } = useStore();
  const { value, wrong } = useFound(wanted ? name : null, async () => {
    const known = sections.get(source) ?? new Map<string, Promise<unknown>>();
    sections.set(source, known);
    const asked = known.get(name) ?? source.section(name);
    known.set(name, asked);
    return { told: ((await asked) ?? { reason: "" }) as T | Lacking, of: source };
  });
  if (wrong !== "") return { reason: wrong };
  return value === null || value.of !== source ? null : value.told;
}

export function isLacking(told: object): told is Lacking {
  return "reason" in told;
}
