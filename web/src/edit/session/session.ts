/** The run that the page shows, and how it becomes another: its changes are in the address, and it follows them. */

import { effect, signal, untracked } from "@preact/signals";
import { firstLevel, firstUnit } from "../../address/first.ts";
import { go, type Level, type State, state } from "../../address/state.ts";
import type { Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import type { Step } from "../../record/step.ts";
import { Store } from "../../run/store.ts";
import { DifferenceSource } from "../../sources/difference.ts";
import { problemOf } from "../../sources/refused.ts";
import { isServed } from "../../sources/served.ts";
import { say } from "../../words/say.ts";
import { type Change, formatChanges, parseChanges, type Which, withChange } from "../changes/changes.ts";
import { movedChanges } from "../changes/shift.ts";
import { type Asked, askedBy, equal, NOTHING } from "./asked.ts";
import { type Engine, rewritten } from "./engine.ts";
import { inHandOf, keepWithin } from "./in_hand.ts";
import { type Kept, parseKept } from "./kept.ts";
import { Past } from "./past.ts";
import { numbersOf, type Since, since } from "./since.ts";

/** A run that is being made; `stop` gives it up, and the run before stays. */
export interface Busy {
  readonly begun: number;
  readonly doing: string;
  stop(): void;
}

export class Session {
  readonly engine: Engine;
  readonly store;
  readonly busy = signal<Busy | null>(null);
  /** What could not be done, a sentence each, until the next change. */
  readonly told = signal<readonly string[]>([]);
  readonly since = signal<Since | null>(null);
  /** How A and B differ, while two runs are compared. */
  readonly between = signal<Since | null>(null);
  /** How long the last run took, in ms. */
  took = 200;
  readonly #first: Store;
  /** The run of the address; the page may show the one that is kept, or the two subtracted. */
  #now: Store;
  #a: { readonly text: string; readonly store: Promise<Store> } | null = null;
  #arranged: { readonly key: string; readonly b: Store };
  /** The numbers that the next run is compared with: those of the run before, worked out in the same way. */
  #numbers: Store["fetch"] | null = null;
  #before: Store["fetch"] | null = null;
  /** What the store shows, and what was asked for last. */
  #shown: Asked = NOTHING;
  #asked: Asked = NOTHING;
  readonly #past = new Past();
  /** Until the page is drawn first its address says all. */
  #begun = false;
  #stop: AbortController | null = null;

  constructor(first: Store, engine: Engine) {
    this.#first = first;
    this.#now = first;
    this.#arranged = { key: " ", b: first };
    this.engine = engine;
    this.store = signal(first);
  }

  /** Whether the model of the address is the one that is shown. */
  get settled(): boolean {
    return this.#shown.model === state.value.model;
  }

  /** The changes of the address, those that could not be read left out. */
  get changes(): Change[] {
    return parseChanges(state.value.changes).changes;
  }

  /** Follows the address from now on; resolves when what it asks for at first is shown. */
  async begin(): Promise<void> {
    await this.#show(askedBy(state.value));
    await this.#arrange(state.value);
    this.#begun = true;
    effect(() => keepWithin(this.store.value, state.value));
    effect(() => {
      const asked = askedBy(state.value);
      untracked(() => void this.#show(asked));
    });
    effect(() => void this.#arrange(state.value));
  }

  /** The changes that the page came with, as Python and as steps; another model has none. */
  get given(): string {
    return state.value.model === "" ? this.#first.names.run.changes : "";
  }

  get givenSteps(): readonly Step[] {
    return state.value.model === "" ? this.#first.steps : [];
  }

  /** One of the texts as it reads now; null where it is not known. */
  text(which: Which, row: number): string | null {
    return this.texts(which)?.[row] ?? null;
  }

  /** The texts of one kind as they read now; null where there are none, or where they are not known. */
  texts(which: Which): readonly string[] | null {
    const before = this.engine.texts(state.value.model, which);
    return before === null ? null : rewritten(before, this.changes, which);
  }

  /** The row that a text has in a change. */
  row(which: Which, row: number): number {
    return this.engine.row?.(state.value.model, which, this.changes, row) ?? row;
  }

  /** What a number was before the last change; null where nothing is known of it. */
  was(name: string, cell: readonly number[]): number | null {
    const tensor = this.since.value === null ? undefined : this.#before?.(name);
    const fits = tensor?.shape.length === cell.length && cell.every((index, axis) => index < (tensor.shape[axis] ?? 0));
    return tensor !== undefined && fits ? at(tensor, cell) : null;
  }

  /** One more change. */
  add(more: Change): void {
    this.set(withChange(this.changes, more));
  }

  /** Exactly these changes. */
  set(changes: readonly Change[]): void {
    const { model, shown } = state.value;
    if (shown === "A") {
      this.told.value = [say`Only B can be changed: show it first.`];
      return;
    }
    const shifted = this.engine.shifted?.(model, this.changes, changes, this.#now.names.run) ?? changes;
    this.#past.go(askedBy(state.value), { model, changes: formatChanges(shifted) });
  }

  /** Another model, with texts of its own and no changes. */
  choose(model: string): void {
    const { title } = this.#first.names.run;
    this.#past.go(askedBy(state.value), { model: model === title ? "" : model, changes: "" });
  }

  get canUndo(): boolean {
    return !this.#past.empty || this.changes.length > 0;
  }

  /** As it was before the last change; of an address that came with changes, without the last of them. */
  undo(): void {
    if (this.#past.undo(askedBy(state.value))) return;
    this.set(this.changes.slice(0, -1));
    this.#past.pop();
  }

  async #show(asked: Asked): Promise<void> {
    if (equal(asked, this.#asked)) return;
    this.#asked = asked;
    this.#past.at(asked);
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const { changes, ignored } = parseChanges(asked.changes);
    const begun = performance.now();
    try {
      if (this.engine.why !== "") {
        this.told.value = [
          ...ignored,
          ...(changes.length > 0 ? [say`The changes of the address are not made. ${this.engine.why}`] : []),
        ];
        return;
      }
      // What is made at once is shown at once: the page is drawn a single time for the change and its numbers.
      let made = this.engine.atOnce?.(changes) ?? null;
      if (made === null) {
        const doing = say`Running the text through ${asked.model || this.#first.names.run.title}`;
        this.busy.value = { begun, doing, stop: () => this.#giveUp(stop) };
        made = await this.engine.make(asked.model, changes, stop.signal);
      }
      const untouched = asked.model === "" && changes.length === 0;
      const next = untouched ? this.#first : new Store(made.source, made.steps);
      const opening = this.#open(next);
      if (opening !== null) await opening;
      if (stop.signal.aborted) return;
      const first = equal(this.#shown, NOTHING) && this.#numbers === null;
      const other = this.#shown.model !== asked.model;
      if (other) this.since.value = null;
      this.#replace(next, asked);
      // The picture stands; what could not be done, and how much it differs from the one before, is shown next.
      if (this.#begun) await new Promise((resolve) => setTimeout(resolve));
      const refused = [...ignored, ...made.refused];
      if (!stop.signal.aborted && refused.length + this.told.value.length > 0) this.told.value = refused;
      const found = await this.#compared(untouched ? new Store(made.source) : next, next.names, { first, other });
      if (!stop.signal.aborted) this.since.value = made.refused[0] ? null : found; // a refused change has no effect
    } catch (error) {
      if (stop.signal.aborted) return;
      this.told.value = [...ignored, problemOf(error)];
    } finally {
      if (this.#stop === stop) {
        this.busy.value = null;
        this.took = Math.max(50, performance.now() - begun);
      }
    }
  }

  /** How many numbers are others now; null where the runs cannot be compared one by one. */
  async #compared(now: Store, names: Names, run: { first: boolean; other: boolean }): Promise<Since | null> {
    const [other, inParts] = [run.other, !now.source.whole];
    if (other || inParts) this.#numbers = inParts ? null : await numbersOf(now);
    if (other || inParts) return null;
    if (run.first) {
      // What a page came with was computed elsewhere, and rounded otherwise than here.
      const here = this.engine.offers.length > 0 ? this.#first.source : (await this.engine.make("", [], NEVER)).source;
      this.#numbers = await numbersOf(new Store(here));
    }
    const fetch = await numbersOf(now);
    const found = this.#numbers === null ? null : since(this.#numbers, fetch, names);
    this.#before = this.#numbers;
    this.#numbers = fetch;
    return found;
  }

  /** Shows B, the run of the address, or A, which was kept, or A − B where the level can draw a difference. */
  async #arrange({ kept: text, shown, level }: State): Promise<void> {
    const kept = parseKept(text);
    const side = kept === null ? "" : shown === "A-B" && !SUBTRACTED.includes(level) ? "" : shown;
    const arranged = { key: `${side} ${kept === null ? "" : text}`, b: this.#now };
    if (arranged.key === this.#arranged.key && arranged.b === this.#arranged.b) return;
    this.#arranged = arranged;
    if (kept === null) {
      this.between.value = null;
      this.#display(this.#now);
      return;
    }
    try {
      const a = await this.#kept(text, kept);
      const both = new DifferenceSource(a.source, this.#now.source, kept.row);
      const next = side === "" ? this.#now : side === "A" ? a : new Store(both);
      await this.#open(next);
      const small = kept.row === null && a.source.whole && this.#now.source.whole;
      const found = small ? since(await numbersOf(this.#now), await numbersOf(a), this.#now.names) : null;
      if (this.#arranged !== arranged) return;
      this.between.value = found;
      go(inHandOf(next), true);
      this.#display(next);
      if (side === "A" && a.source.whole) void a.check();
    } catch (error) {
      this.told.value = [problemOf(error)];
    }
  }

  #display(next: Store): void {
    this.store.value.retired = true;
    next.retired = false;
    this.store.value = next;
  }

  /**
   * What the views on the page have opened and drawn, opened and drawn of this run too, before it is shown; null where
   * nothing has to be waited for.
   */
  #open(next: Store): Promise<unknown> | null {
    const { opened, drawn } = this.store.value.wanted;
    const known = (names: Iterable<string>): string[] => [...names].filter((name) => next.names.knows(name));
    const draw = known(drawn.keys());
    const open = known(next.source.whole ? [...opened.keys(), state.value.tensor] : opened.keys());
    if (next.source.whole && next.openAtHand([...draw, ...open]).length === 0) return null;
    return Promise.all([next.draw(draw), next.open(open)]);
  }

  /** The run that is kept, made again where it is none of those at hand. */
  #kept(text: string, { model, changes }: Kept): Promise<Store> {
    const asked = { model, changes };
    if (equal(asked, this.#shown)) return Promise.resolve(this.#now);
    // What a page came with was computed elsewhere, and rounded otherwise than here.
    if (equal(asked, NOTHING) && this.engine.offers.length > 0) return Promise.resolve(this.#first);
    if (this.#a?.text !== text) {
      const made = this.engine.make(model, parseChanges(changes).changes, NEVER);
      this.#a = { text, store: made.then(({ source, steps }) => new Store(source, steps)) };
    }
    return this.#a.store;
  }

  /** Puts A's numbers in the place of B's: one, or with `vector` all along the last axis. */
  async patch(name: string, cell: readonly number[], vector: boolean): Promise<void> {
    const kept = parseKept(state.value.kept);
    if (kept === null) return;
    const { source } = await this.#kept(state.value.kept, kept);
    const [sentence = 0, ...rest] = cell;
    const inA = this.#now.names.axes(name)[0] === "sentence" && kept.row !== null ? [kept.row, ...rest] : [...cell];
    if (vector && isServed(source) && inA[0] === sentence) {
      this.add({ kind: "patch", where: name, run: source.run.run, cell: [...cell.slice(0, -1), null] });
      return;
    }
    const tensor = await source.tensor(name);
    if (tensor === undefined) return;
    const last = cell.length - 1;
    const places = vector ? range(tensor.shape[last] ?? 0) : [cell[last] ?? 0];
    const put = (place: readonly number[], step: number): number[] => [...place.slice(0, -1), step];
    const steps = places.map((step): Change => {
      return { kind: "replace", where: name, by: at(tensor, put(inA, step)), cell: put(cell, step) };
    });
    this.set(steps.reduce((all, step) => withChange(all, step), this.changes));
  }

  /** A run in a few words: its model, its changes, its sentence. */
  describe({ row, model, changes }: Kept): string {
    const count = parseChanges(changes).changes.length;
    const named = model || this.#first.names.run.title;
    const changed = count === 0 ? say`as it was` : count === 1 ? say`1 change` : say`${count} changes`;
    return row === null ? `${named}, ${changed}` : say`${named}, ${changed}, sentence ${row} alone`;
  }

  /** The new run takes the place of the one that is shown; what was in hand stays in hand as far as it is still there. */
  #replace(next: Store, asked: Asked): void {
    const [old, now] = [this.#now.names.run, next.names.run];
    this.#now = next;
    if (parseKept(state.value.kept) === null) {
      this.#display(next);
      this.#arranged = { key: " ", b: next };
    }
    const other = this.#begun && this.#shown.model !== asked.model;
    this.#shown = asked;
    const { level, unit, tensor } = state.value;
    let inHand = inHandOf(next);
    const named = level !== "model" && (level !== "block" || unit + tensor !== ""); // a view, or a part of the model
    if (other && !named) inHand = { ...inHand, level: firstLevel(now.formulas) };
    const units = now.formulas.map((formula) => formula.unit);
    if (!units.includes(unit)) inHand = { ...inHand, unit: firstUnit(units) };
    // What is undone, and an address, has the places of its own texts.
    const moved = this.#past.made(asked) ? movedChanges(parseChanges(asked.changes).changes, old, now) : null;
    if (moved !== null) inHand = { ...inHand, changes: formatChanges(moved) };
    go(inHand, true);
    void this.#arrange(state.value);
    if (next.source.whole) void next.check();
  }

  #giveUp(stop: AbortController): void {
    stop.abort();
    this.busy.value = null;
    this.#asked = this.#shown;
    this.#past.pop();
    go(this.#shown, true);
    this.told.value = [say`Stopped: the numbers are those of before.`];
  }
}

const NEVER = new AbortController().signal;

/** The levels that draw numbers as they are: a difference of attention weights says nothing of where a head looks. */
const SUBTRACTED: readonly Level[] = ["block", "tensor", "number"];
