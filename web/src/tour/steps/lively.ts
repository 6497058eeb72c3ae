/** A head worth looking at: many give all they have to the first token or to a mark. */

import type { Scout } from "../../scout/scout.ts";

/** A weight above this leaves nothing to share out. */
const SHARED = 0.95;

/** So many words are looked through, the last ones. */
const WORDS = 24;

export interface Lively {
  readonly name: string;
  readonly block: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
}

/** The self-attentions of the stack that is followed. */
function selfAttentions(s: Scout): string[] {
  const ours = (name: string): boolean => name.startsWith(`${s.stack}.`) && name.includes(".self_attention.");
  return s.ending("weights").flatMap(({ name }) => (ours(name) ? [name] : []));
}

export const blockIn = (name: string): number => Number(name.split(".")[2]);

/**
 * The word that looks most at one before it, beyond an even share, or at one after it, in all heads of all blocks; else
 * the tour's example.
 */
export function livelyOf(s: Scout, after: boolean): Lively {
  const words = s.seen.slice(-WORDS);
  let [best, most] = [{ name: s.of("weights"), ...s.example }, 0];
  for (const name of selfAttentions(s)) {
    for (let head = 0; head < s.size(name, "head"); head++) {
      for (const query of words) {
        for (const key of words) {
          if (after ? key <= query : key >= query) continue;
          const value = s.value(name, { head, query, key });
          const more = after ? value : value - 1 / (query + 1);
          if (more > most && value < SHARED) [best, most] = [{ name, head, query, key }, more];
        }
      }
    }
  }
  return { ...best, block: blockIn(best.name) };
}
