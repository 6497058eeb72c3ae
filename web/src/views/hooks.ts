/** What the views wait for: sizes, numbers and answers; while they wait the old picture stays. */

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { holdBack, inPicture, type State, state } from "../address/state.ts";
import { type Palette, pagePalette } from "../draw/colour.ts";
import type { Answer, Store } from "../run/store.ts";

export const StoreContext = createContext<Store | null>(null);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === null) throw new Error("a view stands outside of the page");
  return store;
}

/** Whether these tensors have been opened. */
export function useOpened(names: readonly string[]): boolean {
  const store = useStore();
  const wanted = names.join(" ");
  const [opened, setOpened] = useState("");
  useEffect(() => {
    let current = true;
    const all = wanted === "" ? [] : wanted.split(" ");
    const leave = want(store.wanted.opened, all);
    void store.open(all).then(() => {
      if (current) setOpened(wanted);
    });
    return () => {
      current = false;
      leave();
    };
  }, [store, wanted]);
  return opened === wanted;
}

/** Counts what is wanted until it no longer is: the store of another run has it before it is shown. */
function want(wanted: Map<string, number>, names: readonly string[]): () => void {
  for (const name of names) wanted.set(name, (wanted.get(name) ?? 0) + 1);
  return () => {
    for (const name of names) {
      const left = (wanted.get(name) ?? 1) - 1;
      if (left > 0) wanted.set(name, left);
      else wanted.delete(name);
    }
  };
}

/** Whether these tensors can be drawn. */
export function useDrawn(names: readonly string[]): boolean {
  const store = useStore();
  const wanted = names.join(" ");
  const [drawn, setDrawn] = useState("");
  useEffect(() => {
    let here = true;
    const all = wanted === "" ? [] : wanted.split(" ");
    const leave = want(store.wanted.drawn, all);
    void store.draw(all).then(() => {
      if (here) setDrawn(wanted);
    });
    return () => {
      here = false;
      leave();
    };
  }, [store, wanted]);
  return drawn === wanted;
}

/** What was given up is no error. */
export function unlessGivenUp(error: unknown): void {
  if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
}

/** The answer about a number; until it is there, the one before. */
export function useAnswer(name: string, cell: readonly number[]): Answer | null {
  const store = useStore();
  const asked = cell.join(",");
  const [, repaint] = useState<Answer | null>(null);
  const answer = useRef<Answer | null>(null);
  const now = useMemo(() => (name === "" ? undefined : store.answerAtHand(name, cell)), [store, name, asked]);
  if (now !== undefined) answer.current = now;
  useLayoutEffect(() => {
    const giveUp = new AbortController();
    if (name === "" || now !== undefined) return;
    // The level of one number has no picture before its answer.
    const release = state.peek().level === "number" ? holdBack() : () => {};
    const ask = async (): Promise<void> => {
      // A request takes the browser some ms to send: the picture goes first.
      await null;
      if (giveUp.signal.aborted) return;
      const found = await store.answer(name, cell, giveUp.signal);
      if (giveUp.signal.aborted) return;
      answer.current = found;
      repaint(found);
    };
    ask().catch(unlessGivenUp).finally(release);
    return () => giveUp.abort();
  }, [store, name, asked]);
  return name === "" ? null : answer.current;
}

/** Reports to the page whether the picture in front has the number in hand; null: a part of it reports. */
export function useInPicture(holds: boolean | null): void {
  useLayoutEffect(() => {
    if (holds === null) return;
    inPicture.value = holds;
    return () => {
      inPicture.value = true;
    };
  }, [holds]);
}

/** Asks for what a view shows: of a server at once, where the page works it out itself after the picture. */
export function useAsked(ask: () => (() => void) | undefined, deps: readonly unknown[]): void {
  const { source } = useStore();
  useLayoutEffect(() => (source.whole ? undefined : ask()), [...deps]);
  useEffect(() => (source.whole ? ask() : undefined), [...deps]);
}

/** A value one task later, after what is drawn at once. */
export function useNextTask<T>(value: T): T {
  const [next, setNext] = useState({ value });
  useLayoutEffect(() => {
    if (value === next.value) return;
    const waiting = setTimeout(() => setNext({ value }));
    return () => clearTimeout(waiting);
  }, [value, next]);
  return next.value;
}

/** What is here within so many milliseconds is not waited for in sight. */
const QUICK = 150;

/** Whether something has been waited for so long that the page says so. A transition with a delay would cost frames. */
export function useLate(waits: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!waits) return;
    const waiting = setTimeout(() => setLate(true), QUICK);
    return () => {
      clearTimeout(waiting);
      setLate(false);
    };
  }, [waits]);
  return waits && late;
}

/** Milliseconds without another step after which what stands below a picture follows the cell in hand. */
const RESTED = 60;

/** What a value is once it has rested: arrow keys move a picture at once, and what is long follows when they pause. */
export function useRested<T>(value: T): T {
  const [rested, setRested] = useState({ value });
  useEffect(() => {
    if (value === rested.value) return;
    const waiting = setTimeout(() => setRested({ value }), RESTED);
    return () => clearTimeout(waiting);
  }, [value, rested]);
  return rested.value;
}

/**
 * What the links of a folded table follow: nothing while it is folded, the page at rest once it is open. They lead on from
 * where the page is, and a table has hundreds of them.
 */
export function useFolded(): {
  readonly now: State | null;
  onToggle(event: { currentTarget: HTMLDetailsElement }): void;
} {
  const [open, setOpen] = useState(false);
  const rested = useRested(open ? state.value : null);
  return { now: rested, onToggle: (event) => setOpen(event.currentTarget.open) };
}

const widths = new Map<string, number>();

/**
 * The width of an element, followed. One that comes and goes is drawn at once as wide as it was last, by the name that
 * it is given: to ask for a width has the whole page laid out.
 */
export function useWidth(name = ""): { readonly box: { current: HTMLDivElement | null }; readonly width: number } {
  const box = useRef<HTMLDivElement | null>(null);
  const [width, setWidth] = useState(widths.get(name) ?? 0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const read = (): void => {
      const now = Math.floor(element.clientWidth);
      if (name !== "") widths.set(name, now);
      setWidth(now);
    };
    // One task later: a picture that is drawn anew may bring a scroll bar, and so another width, into the same notice.
    const observer = new ResizeObserver(() => setTimeout(() => element.isConnected && read()));
    observer.observe(element);
    if (width === 0) read();
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

let last: { readonly theme: string; readonly palette: Palette } | null = null;

/** The theme's colours, read again when it changes. */
export function usePalette(): Palette {
  const theme = useTheme();
  if (last === null || last.theme !== theme) {
    document.documentElement.dataset["theme"] = theme;
    last = { theme, palette: pagePalette() };
  }
  return last.palette;
}

const DARK = "(prefers-color-scheme: dark)";
const CONTRAST = "(prefers-contrast: more)";

/** The theme that was asked for, or the one that the system asks for. */
export function useTheme(): "light" | "dark" | "contrast" {
  const asked = state.value.theme;
  const [, repaint] = useState(0);
  useEffect(() => {
    const lists = [matchMedia(DARK), matchMedia(CONTRAST)];
    const changed = (): void => repaint((count) => count + 1);
    for (const list of lists) list.addEventListener("change", changed);
    return () => {
      for (const list of lists) list.removeEventListener("change", changed);
    };
  }, []);
  if (asked !== "auto") return asked;
  if (matchMedia(CONTRAST).matches) return "contrast";
  return matchMedia(DARK).matches ? "dark" : "light";
}
