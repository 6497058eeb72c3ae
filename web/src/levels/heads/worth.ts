/** What a model loses without each head, where it was measured on texts that it has not learned from. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { short } from "../../numbers/written.ts";
import type { Importance, ImportanceRow } from "../../record/sums.ts";
import { isServed } from "../../sources/served.ts";
import { isLacking, useSection } from "../../views/found.ts";
import { useStore } from "../../views/hooks.ts";
import { heard, say } from "../../words/say.ts";
import { idOf } from "./heads_scene.ts";

export interface Worth extends Importance {
  readonly of: ReadonlyMap<string, ImportanceRow>;
}

/** A server measures it when it is asked to: of a large model that takes a minute. */
export const measuring = signal(false);

const NAME = "importance";

/** The measured heads; or, in the place of them, whether a server can measure them, and why they could not be. */
export function useWorth(): { readonly worth: Worth | null; readonly offered: boolean; readonly reason: string } {
  const { source } = useStore();
  const server = isServed(source);
  const told = useSection<Importance>(NAME, !server || measuring.value);
  const worth = useMemo(() => {
    if (told === null || isLacking(told)) return null;
    return { ...told, of: new Map(told.heads.map((row) => [idOf(row.attention, row.head), row])) };
  }, [told]);
  const offered = server && source.run.sections?.includes(NAME) === true;
  return { worth, offered, reason: told !== null && isLacking(told) ? heard(told.reason) : "" };
}

/** `+0.021 nats (95 %: 0.011 to 0.032)` */
export function lostBy({ difference, low, high }: ImportanceRow, unit: string): string {
  const within = low === null || high === null ? "" : say` (95 %: ${short(low)} to ${short(high)})`;
  return `${difference > 0 ? "+" : ""}${short(difference)} ${unit}${within}`;
}
