/** Names that are asked for at once make one question to a server, or a few: it answers two at a time. */

export class Together<Sent> {
  readonly #ask: (names: readonly string[]) => Promise<Sent>;
  readonly #most: number;
  /** Those that are about to be asked for. */
  #asking: { readonly names: string[]; readonly sent: Promise<Sent> } | null = null;

  constructor(most: number, ask: (names: readonly string[]) => Promise<Sent>) {
    this.#most = most;
    this.#ask = ask;
  }

  /** The answer to the question in which this name stands. */
  of(name: string): Promise<Sent> {
    let group = this.#asking;
    if (group === null || group.names.length === this.#most) {
      const names: string[] = [];
      const sent = Promise.resolve().then(() => {
        if (this.#asking?.names === names) this.#asking = null;
        return this.#ask(names);
      });
      group = { names, sent };
      this.#asking = group;
    }
    group.names.push(name);
    return group.sent;
  }
}
