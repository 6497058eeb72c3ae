/** A scene on a canvas that can be pointed at and walked through by keys. */

import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Measure } from "../draw/box.ts";
import { paint } from "../draw/canvas.ts";
import { frameOf, type Panel, panelAt, type Scene } from "../draw/scene.ts";
import { useDrag } from "./drag.ts";
import { useStore } from "./hooks.ts";
import { plain } from "./plain.ts";

interface Place {
  readonly panel: Panel;
  readonly row: number;
  readonly column: number;
}

export interface PictureProps {
  readonly scene: Scene;
  /** What the picture is, for people who do not see it. */
  readonly label: string;
  /** The cell in hand. */
  readonly tensor: string;
  readonly cell: readonly number[];
  /** The cell so many rows down and columns along, for a picture that shows only a part; null = stay. */
  step?(cell: readonly number[], down: number, along: number): number[] | null;
  /** A cell was pointed at, by mouse or key; null = no longer. */
  onPoint?(tensor: string, cell: number[], by: "mouse" | "key", panel: Panel): void;
  /** A cell was chosen; `further` = it is to be opened. */
  onChoose(tensor: string, cell: number[], further: boolean): void;
  /** One cell was dragged onto another; `whole` = its row with it. Left out: nothing is dragged. */
  onDrop?: ((from: Dropped, to: Dropped, whole: boolean) => void) | undefined;
}

interface Dropped {
  readonly name: string;
  readonly cell: readonly number[];
}

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export const SANS = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, system-ui, sans-serif';

export function Picture({ scene, label, tensor, cell, step, onPoint, onChoose, onDrop }: PictureProps): VNode {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<Place | null>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context != null) paint(context, scene, SANS);
  }, [scene]);
  const inHand = placeOf(scene, tensor, cell);
  const under = (event: MouseEvent): Place | null => {
    // In a presentation the picture is enlarged, and the event does not say so.
    const zoom = canvas.current?.currentCSSZoom ?? 1;
    return panelAt(scene, event.offsetX / zoom, event.offsetY / zoom);
  };
  const dropped = ({ panel, row, column }: Place): Dropped => ({ name: panel.tensor, cell: panel.cell(row, column) });
  const drop = (from: Place, to: Place, whole: boolean): void => {
    const same = from.panel === to.panel && from.row === to.row && (whole || from.column === to.column);
    if (!same) onDrop?.(dropped(from), dropped(to), whole);
  };
  const { drag, down, ended } = useDrag(under, onDrop === undefined ? undefined : drop);
  const point = (event: MouseEvent): void => {
    const found = under(event);
    if (found?.panel === hover?.panel && found?.row === hover?.row && found?.column === hover?.column) return;
    setHover(found);
    if (found !== null) onPoint?.(found.panel.tensor, found.panel.cell(found.row, found.column), "mouse", found.panel);
  };
  const choose = (event: MouseEvent): void => {
    const found = ended() ? null : under(event);
    if (found === null) return;
    onChoose(found.panel.tensor, found.panel.cell(found.row, found.column), event.detail > 1);
  };
  const key = (event: KeyboardEvent): void => {
    if (!plain(event)) return;
    store.pointed.value = null;
    const first = scene.panels[0];
    const from = inHand ?? (first === undefined ? null : { panel: first, row: 0, column: 0 });
    if (from === null) return;
    if (event.key === "Enter") {
      onChoose(from.panel.tensor, from.panel.cell(from.row, from.column), true);
      event.preventDefault();
      return;
    }
    const arrow = ARROWS[event.key];
    const further = arrow === undefined ? null : (step?.(cell, ...arrow) ?? null);
    if (further !== null) {
      event.preventDefault();
      onPoint?.(tensor, further, "key", from.panel);
      return;
    }
    const next = moved(scene, from, event.key);
    if (next === null) return;
    event.preventDefault();
    onPoint?.(next.panel.tensor, next.panel.cell(next.row, next.column), "key", next.panel);
  };
  return (
    <div class="picture">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: its cells are walked through by keys of its own */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={label}
        style={drag === null ? undefined : { cursor: "grabbing" }}
        onMouseDown={down}
        onMouseMove={point}
        onMouseLeave={() => {
          setHover(null);
          store.pointed.value = null;
        }}
        onClick={choose}
        onKeyDown={key}
      />
      {drag !== null && <Frame place={drag.from} line={2} />}
      {hover !== null && hover.panel.frameless !== true && <Frame place={hover} line={1} />}
      {inHand !== null && <Frame place={inHand} line={2} />}
    </div>
  );
}

function placeOf(scene: Scene, tensor: string, cell: readonly number[]): Place | null {
  for (const panel of scene.panels) {
    const found = panel.tensor === tensor ? panel.find(cell) : null;
    if (found !== null) return { panel, row: found[0], column: found[1] };
  }
  return null;
}

/** Arrows move within a panel; Page Up and Page Down go to the panel before and after. */
function moved(scene: Scene, { panel, row, column }: Place, key: string): Place | null {
  const at = scene.panels.indexOf(panel);
  const within = (down: number, along: number): Place => ({
    panel,
    row: Math.min(Math.max(row + down, 0), panel.rows - 1),
    column: Math.min(Math.max(column + along, 0), panel.columns - 1),
  });
  const other = (by: number): Place | null => {
    const next = scene.panels[at + by];
    if (next === undefined) return null;
    return { panel: next, row: Math.min(row, next.rows - 1), column: Math.min(column, next.columns - 1) };
  };
  const arrow = ARROWS[key];
  if (arrow !== undefined) return within(...arrow);
  switch (key) {
    case "Home":
      return within(0, -panel.columns);
    case "End":
      return within(0, panel.columns);
    case "PageUp":
      return other(-1);
    case "PageDown":
      return other(1);
    default:
      return null;
  }
}

function Frame({ place, line }: { place: Place; line: number }): VNode {
  const { x, y, w, h } = frameOf(place.panel, place.row, place.column);
  const style = { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px`, outlineWidth: `${line}px` };
  return <div class="frame-of-cell" style={style} />;
}

let context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null | undefined;
const widths = new Map<string, number>();
/** So many of them are kept. */
const TEXTS = 20_000;

/** How wide a text is on this page. */
export const measure: Measure = (text, size, bold = false) => {
  const key = `${size} ${bold} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    context ??= new OffscreenCanvas(1, 1).getContext("2d");
    if (context === null) return text.length * size * 0.6;
    context.font = `${bold ? "600 " : ""}${size}px ${SANS}`;
    width = context.measureText(text).width;
    if (widths.size === TEXTS) widths.clear();
    widths.set(key, width);
  }
  return width;
};
