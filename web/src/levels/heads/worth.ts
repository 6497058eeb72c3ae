/** What a model loses without each head, where it was measured on texts that it has not learned from. */

import { useMemo } from "preact/hooks";
import { isLacking, useSection } from "../../frame/found.ts";
import { short } from "../../run/numbers.ts";
import type { Importance, ImportanceRow } from "../../run/sums.ts";
import { idOf } from "./heads_scene.ts";

export interface Worth extends Importance {
  readonly of: ReadonlyMap<string, ImportanceRow>;
}

/** Null where it was not measured, or is not known yet. */
export function useWorth(): Worth | null {
  const told = useSection<Importance>("importance");
  return useMemo(() => {
    if (told === null || isLacking(told)) return null;
    return { ...told, of: new Map(told.heads.map((row) => [idOf(row.attention, row.head), row])) };
  }, [told]);
}

/** `+0.021 nats (95 %: 0.011 to 0.032)` */
export function lostBy({ difference, low, high }: ImportanceRow, unit: string): string {
  const within = low === null || high === null ? "" : ` (95 %: ${short(low)} to ${short(high)})`;
  return `${difference > 0 ? "+" : ""}${short(difference)} ${unit}${within}`;
}
