/**
 * What a view shows, as things to draw: the scenes on its canvases, and the words, formulas, backgrounds and lines
 * next to them, each where it is on the page. So every view can be saved, whatever it is made of.
 */

import { sceneOn } from "../draw/canvas.ts";
import type { Item } from "../draw/scene.ts";
import type { Letters, Placed } from "../draw/svg.ts";
import { lettersIn, lettersOf } from "./letters.ts";

/** What only has a meaning on the page itself, or says again what a picture shows. */
const LEFT_OUT = ".away, .controls, .twin, dialog, input, textarea, script, style, [data-left-out]";

export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** All that stands in an element, also beyond its scroll bars, and how much room it takes there. */
export function seenIn(root: HTMLElement): { readonly parts: Placed[]; readonly area: Area } {
  const looking = new Looking(root);
  looking.at(root, null);
  return { parts: looking.parts, area: looking.area };
}

class Looking {
  readonly parts: Placed[] = [];
  /** What is next to canvases since the last one: at its place in the window. */
  #items: (Item | Letters)[] | null = null;
  area: Area = { left: Number.POSITIVE_INFINITY, top: Number.POSITIVE_INFINITY, right: 0, bottom: 0 };
  readonly #left: number;
  readonly #top: number;
  readonly #root: HTMLElement;

  constructor(root: HTMLElement) {
    const frame = root.getBoundingClientRect();
    this.#root = root;
    this.#left = frame.left - root.scrollLeft;
    this.#top = frame.top - root.scrollTop;
  }

  /** `within` is what a scrolled part shows of itself. */
  at(element: Element, within: DOMRect | null): void {
    const style = getComputedStyle(element);
    if (element.matches(LEFT_OUT) || style.display === "none" || style.visibility === "hidden") return;
    const frame = element.getBoundingClientRect();
    if (element !== this.#root) {
      this.#ground(style, frame, within);
      if (style.overflowX !== "visible" || style.overflowY !== "visible") within = met(frame, within);
    }
    if (element instanceof HTMLCanvasElement) this.#canvas(element, frame);
    else if (element instanceof HTMLSelectElement) {
      this.#letters(lettersIn(element.selectedOptions[0]?.text ?? "", frame, style), within);
    } else {
      for (const node of element.childNodes) {
        if (node instanceof Element) this.at(node, within);
        else if (node instanceof Text) this.#letters(lettersOf(node, style), within);
      }
    }
    if (element.localName === "mfrac") this.#fraction(element, style);
    if (element.localName === "msqrt") this.#root_of(frame, style);
  }

  #put(items: readonly (Item | Letters)[], { left, top, right, bottom }: Area): void {
    const [x, y] = [this.#left, this.#top];
    if (this.#items === null) {
      this.#items = [];
      this.parts.push({ x: -x, y: -y, items: this.#items });
    }
    this.#items.push(...items);
    const { area } = this;
    this.area = {
      left: Math.min(area.left, left - x),
      top: Math.min(area.top, top - y),
      right: Math.max(area.right, right - x),
      bottom: Math.max(area.bottom, bottom - y),
    };
  }

  #canvas(canvas: HTMLCanvasElement, frame: DOMRect): void {
    const scene = sceneOn(canvas);
    if (scene === undefined || frame.width === 0) return;
    this.#put([], frame);
    this.parts.push({ x: frame.left - this.#left, y: frame.top - this.#top, items: scene.items });
    this.#items = null;
  }

  #letters(found: readonly (readonly [Letters, DOMRect])[], within: DOMRect | null): void {
    for (const [letters, frame] of found) {
      if (within === null || overlaps(frame, within)) this.#put([letters], frame);
    }
  }

  /** An element's background, its borders, and the frame of a cell in hand. */
  #ground(style: CSSStyleDeclaration, frame: DOMRect, within: DOMRect | null): void {
    if (frame.width === 0 || frame.height === 0 || (within !== null && !overlaps(frame, within))) return;
    const { left: x, top: y, width: w, height: h } = frame;
    const items: Item[] = [];
    const fill = (colour: string, x: number, y: number, w: number, h: number): void => {
      if (seen(colour) && w > 0 && h > 0) items.push({ x, y, w, h, fill: colour });
    };
    const line = (side: "Top" | "Right" | "Bottom" | "Left"): number => {
      return style[`border${side}Style`] === "none" ? 0 : Number.parseFloat(style[`border${side}Width`]);
    };
    fill(style.backgroundColor, x, y, w, h);
    fill(style.borderTopColor, x, y, w, line("Top"));
    fill(style.borderBottomColor, x, y + h - line("Bottom"), w, line("Bottom"));
    fill(style.borderLeftColor, x, y, line("Left"), h);
    fill(style.borderRightColor, x + w - line("Right"), y, line("Right"), h);
    if (style.outlineStyle === "solid") {
      const wide = Number.parseFloat(style.outlineWidth);
      const around = { x: x - wide / 2, y: y - wide / 2, w: w + wide, h: h + wide };
      items.push({ ...around, stroke: style.outlineColor, line: wide });
    }
    if (items.length > 0) this.#put(items, frame);
  }

  #fraction(element: Element, style: CSSStyleDeclaration): void {
    const [over, under] = [...element.children].map((child) => child.getBoundingClientRect());
    const frame = element.getBoundingClientRect();
    if (over === undefined || under === undefined) return;
    const y = (over.bottom + under.top) / 2;
    const item: Item = { x: frame.left, y: y - 0.5, w: frame.width, h: 1, fill: style.color };
    this.#put([item], frame);
  }

  #root_of(frame: DOMRect, style: CSSStyleDeclaration): void {
    const { left, top, right, bottom } = frame;
    const foot = Math.min(10, frame.height / 2);
    const d =
      `M${left + 1} ${bottom - foot}l2 -1L${left + foot / 2} ${bottom - 1}` + `L${left + foot} ${top + 1}H${right}`;
    this.#put([{ d, stroke: style.color, line: 1 }], frame);
  }
}

function seen(colour: string): boolean {
  return colour !== "transparent" && !/^rgba\(.*, 0\)$/.test(colour);
}

function overlaps(one: DOMRect, two: DOMRect): boolean {
  const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
  const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
  return across > one.width / 2 && down > one.height / 2;
}

/** What two areas have in common. */
function met(one: DOMRect, two: DOMRect | null): DOMRect {
  if (two === null) return one;
  const [x, y] = [Math.max(one.left, two.left), Math.max(one.top, two.top)];
  return new DOMRect(
    x,
    y,
    Math.max(0, Math.min(one.right, two.right) - x),
    Math.max(0, Math.min(one.bottom, two.bottom) - y),
  );
}
