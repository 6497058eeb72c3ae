/** The letters of a text on the page, line by line, with where they stand and in which font. */

import type { Letters } from "../draw/svg.ts";

type Found = readonly [letters: Letters, frame: DOMRect];

/** A text that the page has broken into lines. */
export function lettersOf(node: Text, style: CSSStyleDeclaration): Found[] {
  const { data } = node;
  const range = document.createRange();
  const frames = (start: number, end: number): DOMRect[] => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return [...range.getClientRects()].filter((frame) => frame.width > 0);
  };
  const pieces: { start: number; end: number; frame: DOMRect }[] = [];
  const add = (start: number, end: number): void => {
    const found = frames(start, end);
    const [frame] = found;
    if (frame === undefined) return;
    const last = pieces.at(-1);
    if (found.length > 1 && end - start > 1 && new Set(found.map((each) => each.top)).size > 1) {
      // A word that goes on in the next line, as Chinese does, letter by letter.
      let at = start;
      for (const letter of data.slice(start, end)) {
        add(at, at + letter.length);
        at += letter.length;
      }
    } else if (last !== undefined && Math.abs(last.frame.top - frame.top) < 1) {
      last.end = end;
      last.frame = around(last.frame, found);
    } else pieces.push({ start, end, frame: around(frame, found) });
  };
  for (const word of data.matchAll(/\S+/g)) add(word.index, word.index + word[0].length);
  return pieces.map(({ start, end, frame }) => [
    inFont(data.slice(start, end).replace(/\s+/g, " "), frame, style),
    frame,
  ]);
}

/** A text in the middle of the height of its frame: that of a choice. */
export function lettersIn(text: string, frame: DOMRect, style: CSSStyleDeclaration): Found[] {
  return text === "" || frame.width === 0 ? [] : [[inFont(text, frame, style), frame]];
}

let context: OffscreenCanvasRenderingContext2D | null | undefined;

function inFont(text: string, frame: DOMRect, style: CSSStyleDeclaration): Letters {
  const size = Number.parseFloat(style.fontSize);
  const weight = Number(style.fontWeight);
  context ??= new OffscreenCanvas(1, 1).getContext("2d");
  let [above, below] = [size * 0.9, size * 0.25];
  if (context !== null) {
    context.font = `${weight} ${size}px ${style.fontFamily}`;
    const measured = context.measureText(text);
    [above, below] = [measured.fontBoundingBoxAscent, measured.fontBoundingBoxDescent];
  }
  const leftwards = style.direction === "rtl";
  return {
    x: leftwards ? frame.right : frame.left,
    y: frame.top + (frame.height - above - below) / 2 + above,
    text,
    family: style.fontFamily,
    size,
    weight,
    // A single letter of a formula is slanted by the browser, without a style that says so.
    slanted: style.fontStyle === "italic" || (style.textTransform === "math-auto" && [...text].length === 1),
    fill: style.color,
    leftwards,
  };
}

function around(one: DOMRect, others: readonly DOMRect[]): DOMRect {
  const all = [one, ...others];
  const [left, top] = [Math.min(...all.map((each) => each.left)), Math.min(...all.map((each) => each.top))];
  const right = Math.max(...all.map((each) => each.right));
  return new DOMRect(left, top, right - left, Math.max(...all.map((each) => each.bottom)) - top);
}
