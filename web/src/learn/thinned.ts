/** What is kept of many steps in bounded memory: all of the first steps, then every second, every fourth, and so on. */

export class Thinned<T> {
  readonly #most: number;
  #every = 1;
  #steps: number[] = [];
  #kept: T[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** So many steps apart are those that are kept. */
  get every(): number {
    return this.#every;
  }

  get steps(): readonly number[] {
    return this.#steps;
  }

  get kept(): readonly T[] {
    return this.#kept;
  }

  /** Keeps it if its step is one of those that are kept and comes after all of them; `make` is called only then. */
  offer(step: number, make: () => T): void {
    if (step % this.#every !== 0 || step <= (this.#steps.at(-1) ?? -1)) return;
    this.#steps.push(step);
    this.#kept.push(make());
    if (this.#steps.length <= this.#most) return;
    this.#every *= 2;
    const stays = this.#steps.map((each) => each % this.#every === 0);
    this.#steps = this.#steps.filter((_, place) => stays[place]);
    this.#kept = this.#kept.filter((_, place) => stays[place]);
  }

  /** The last one up to a step. */
  before(step: number): T | undefined {
    let place = this.#steps.length - 1;
    while (place >= 0 && (this.#steps[place] ?? 0) > step) place -= 1;
    return this.#kept[place];
  }

  /** Forgets what comes after a step. */
  cutAfter(step: number): void {
    while ((this.#steps.at(-1) ?? -1) > step) {
      this.#steps.pop();
      this.#kept.pop();
    }
  }
}
