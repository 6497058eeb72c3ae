/**
 * Moving between levels, for eyes that like to follow: the picture grows around what was opened, and shrinks into it on
 * the way back; a number that is followed flies from its place. It is added to a page that is drawn already, and takes
 * nothing from it: what is clicked meanwhile is clicked.
 */

import { effect } from "@preact/signals";
import { type Level, type State, state } from "../address/state.ts";

const MS = 200;
/** How much the old picture grows, and how small the new one begins. */
const [GROWS, BEGINS] = [2.5, 0.6];
/** What was touched longer ago is not what is opened; a number that comes later than this does not fly. */
const [TOUCHED, WAITS] = [1000, 250];

interface Spot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Follows the address from now on; `order` has the levels from the widest to the last. */
export function begin(order: readonly Level[]): void {
  const depth = (level: Level): number => order.indexOf(level);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let touched: { readonly spot: Spot; readonly at: number } | null = null;
  const touch = (event: Event): void => {
    const spot = touchedBy(event);
    touched = spot === null ? null : { spot, at: performance.now() };
  };
  addEventListener("click", touch, true);
  addEventListener("keydown", touch, true);
  let before = state.peek();
  effect(() => {
    const [from, to] = [before, state.value];
    before = to;
    const main = document.querySelector<HTMLElement>(".main");
    if (still.matches || main === null) return;
    const spot = touched !== null && performance.now() - touched.at < TOUCHED ? touched.spot : null;
    if (
      to.level === "number" &&
      (from.level !== "number" || from.tensor !== to.tensor || `${from.cell}` !== `${to.cell}`)
    ) {
      if (spot !== null) fly(spot, to);
    }
    const inwards = depth(to.level) - depth(from.level);
    if (from.level === to.level || depth(from.level) < 0 || depth(to.level) < 0) return;
    const pictures = [...main.querySelectorAll("canvas")].map(
      (canvas) => [canvas, canvas.getBoundingClientRect()] as const,
    );
    requestAnimationFrame(() => zoom(main, pictures, inwards >= 0, inwards >= 0 ? spot : spotOf(main)));
  });
}

/** The place of what an event is about: a link, or the cell that a picture has framed. */
function touchedBy(event: Event): Spot | null {
  if (!(event.target instanceof Element)) return null;
  if (event instanceof KeyboardEvent && event.key !== "Enter") return null;
  const framed = event.target.parentElement?.querySelector(".frame-of-cell");
  const found = event.target instanceof HTMLCanvasElement ? framed : event.target.closest("a, button");
  return found?.getBoundingClientRect() ?? null;
}

/** The cell in hand of the picture that is drawn now. */
function spotOf(main: HTMLElement): Spot | null {
  return main.querySelector(".frame-of-cell")?.getBoundingClientRect() ?? null;
}

type Picture = readonly [canvas: HTMLCanvasElement, frame: DOMRect];

/** The pictures of before, where the view has left them, and the view of now, around one point of the page. */
function zoom(main: HTMLElement, pictures: readonly Picture[], inwards: boolean, spot: Spot | null): void {
  const frame = main.getBoundingClientRect();
  const middle = (from: number, long: number, low: number, high: number): number => {
    return Math.min(Math.max(from + long / 2, low), high);
  };
  const x = spot === null ? frame.left + frame.width / 2 : middle(spot.left, spot.width, frame.left, frame.right);
  const y = spot === null ? frame.top + frame.height / 3 : middle(spot.top, spot.height, frame.top, frame.bottom);
  const ghost = document.createElement("div");
  ghost.className = "ghost";
  ghost.setAttribute("aria-hidden", "true");
  Object.assign(ghost.style, {
    left: `${frame.left}px`,
    top: `${frame.top}px`,
    width: `${frame.width}px`,
    height: `${frame.height}px`,
  });
  const inside = document.createElement("div");
  inside.style.transformOrigin = `${x - frame.left}px ${y - frame.top}px`;
  for (const [canvas, { left, top }] of pictures) {
    if (canvas.isConnected) continue;
    canvas.removeAttribute("tabindex");
    Object.assign(canvas.style, { position: "absolute", left: `${left - frame.left}px`, top: `${top - frame.top}px` });
    inside.append(canvas);
  }
  ghost.append(inside);
  document.body.append(ghost);
  const options: KeyframeAnimationOptions = { duration: MS, easing: "ease-out" };
  const [small, large] = [`scale(${BEGINS})`, `scale(${GROWS})`];
  const leaving = inside.animate([{ opacity: 1 }, { opacity: 0, transform: inwards ? large : small }], options);
  leaving.onfinish = () => ghost.remove();
  main.animate(
    {
      opacity: [0, 1],
      transform: [inwards ? small : "scale(1.2)", "none"],
      transformOrigin: Array(2).fill(inside.style.transformOrigin) as string[],
    },
    options,
  );
}

/** A number's letters, from where it was followed to where it stands large. */
function fly(from: Spot, { tensor, cell }: State): void {
  const end = performance.now() + WAITS;
  const arrive = (): void => {
    const head = document.querySelector<HTMLElement>(
      `.headline[data-number="${CSS.escape(tensor)}"][data-at="${cell}"] h1`,
    );
    if (head === null) {
      if (performance.now() < end) requestAnimationFrame(arrive);
      return;
    }
    const range = document.createRange();
    range.selectNodeContents(head);
    const to = range.getBoundingClientRect();
    const letters = head.cloneNode(true) as HTMLElement;
    const flying = document.createElement("div");
    flying.className = "ghost";
    flying.setAttribute("aria-hidden", "true");
    flying.style.left = `${to.left}px`;
    flying.style.top = `${to.top}px`;
    letters.removeAttribute("id");
    flying.append(...letters.childNodes);
    flying.classList.add(...head.classList);
    document.body.append(flying);
    const size = Math.min(1, from.height / Math.max(to.height, 1));
    const begin = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${size})`;
    const options: KeyframeAnimationOptions = { duration: MS, easing: "ease-in-out" };
    flying.animate({ transform: [begin, "none"] }, options).onfinish = () => flying.remove();
    head.animate({ opacity: [0, 0] }, options);
  };
  requestAnimationFrame(arrive);
}
