/** The states that a page has gone through by its own changes, to be undone one after the other. */

import { type Asked, equal, moveTo, NOTHING } from "./asked.ts";

export class Past {
  readonly #states: Asked[] = [];
  /** What the page itself asked for last, and whether by a change: its places are then those of the texts shown. */
  #own: Asked = NOTHING;
  #changed = false;

  get empty(): boolean {
    return this.#states.length === 0;
  }

  /** Goes from a state to another one. */
  go(now: Asked, asked: Asked): void {
    if (equal(asked, now)) return;
    this.#states.push(now);
    this.#own = asked;
    this.#changed = true;
    moveTo(asked);
  }

  /** Goes back to the last state that differs; false where there is none. */
  undo(now: Asked): boolean {
    let last = this.#states.pop();
    while (last !== undefined && equal(last, now)) last = this.#states.pop();
    if (last === undefined) return false;
    this.#own = last;
    this.#changed = false;
    moveTo(last);
    return true;
  }

  /** Forgets the last state. */
  pop(): void {
    this.#states.pop();
  }

  /** A state was arrived at: by the browser's back, what came after it is no past any more. */
  at(asked: Asked): void {
    const place = this.#states.findIndex((each) => equal(each, asked));
    if (place >= 0 && !equal(asked, this.#own)) this.#states.length = place;
  }

  /** Whether this state came by a change, once. */
  made(asked: Asked): boolean {
    const made = this.#changed && equal(asked, this.#own);
    this.#changed = false;
    return made;
  }
}
