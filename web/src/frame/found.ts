/** What a view waits for beside tensors: work of its own, and sections that the page carries or a server works out. */

import { useEffect, useState } from "preact/hooks";
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
        if (current) setFound({ value: null, wrong: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => {
      current = false;
    };
  }, [source, key]);
  return found;
}

/** A section that this page does not have, or that cannot be made of this model: then `reason` says why. */
export interface Lacking {
  readonly reason: string;
}

/** A section of the run; null while it is waited for. */
export function useSection<T extends object>(name: string): T | Lacking | null {
  const { source } = useStore();
  const { value, wrong } = useFound<{ told: T | Lacking; of: unknown }>(name, async () => {
    const told = ((await source.section(name)) ?? { reason: "" }) as T | Lacking;
    return { told, of: source };
  });
  if (wrong !== "") return { reason: wrong };
  return value === null || value.of !== source ? null : value.told;
}

export function isLacking(told: object): told is Lacking {
  return "reason" in told;
}
