/**
 * A picture as a list of things to draw, in order, and the panels in it whose cells can be pointed at.
 * Three writers read it: the canvas, SVG as text, and the table next to it.
 */

export type Align = "left" | "center" | "right";

/** A rectangle, a polygon, a line, a text, or the cells of an image: what each has alone says which it is. */
export type Item =
  | {
      readonly x: number;
      readonly y: number;
      readonly w: number;
      readonly h: number;
      readonly fill?: string;
      readonly stroke?: string;
      readonly line?: number;
    }
  | { readonly points: readonly number[]; readonly fill: string }
  | {
      readonly d: string;
      readonly stroke: string;
      readonly line: number;
      readonly dash?: number;
    }
  | {
      readonly x: number;
      readonly y: number;
      readonly text: string;
      /** 12 where nothing is said. */
      readonly size?: 14 | 18 | 28;
      readonly fill: string;
      readonly bold?: boolean;
      readonly align?: Align;
      /** Turned a quarter to the left: read from below. */
      readonly turned?: boolean;
    }
  | {
      readonly x: number;
      readonly y: number;
      readonly w: number;
      readonly h: number;
      readonly columns: number;
      readonly rows: number;
      /** A colour for each cell, stretched over the area: [red, green, blue] a cell, row by row. */
      readonly pixels: Uint8ClampedArray<ArrayBuffer>;
    };

/** An area whose rows and columns are cells of a tensor. */
export interface Panel {
  readonly tensor: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly rows: number;
  readonly columns: number;
  /** Its cells have no frame while they are pointed at: the picture itself shows which one it is. */
  readonly frameless?: true;
  /** The cell of the tensor at a row and column. */
  cell(row: number, column: number): number[];
  /** Where a cell of the tensor is, or null where it is not on this panel. */
  find(cell: readonly number[]): readonly [number, number] | null;
}

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly items: readonly Item[];
  readonly panels: readonly Panel[];
}

/** The panel under a point and its row and column there. */
export function panelAt(scene: Scene, x: number, y: number): { panel: Panel; row: number; column: number } | null {
  for (const panel of scene.panels) {
    const [along, down] = [(x - panel.x) / panel.w, (y - panel.y) / panel.h];
    if (along < 0 || along >= 1 || down < 0 || down >= 1) continue;
    return { panel, row: Math.floor(down * panel.rows), column: Math.floor(along * panel.columns) };
  }
  return null;
}

/** The frame of a row and column of a panel. */
export function frameOf(panel: Panel, row: number, column: number): { x: number; y: number; w: number; h: number } {
  const [w, h] = [panel.w / panel.columns, panel.h / panel.rows];
  return { x: panel.x + column * w, y: panel.y + row * h, w, h };
}

/** A line through points that turn at right angles, with round corners, as an SVG path. */
export function rounded(points: readonly (readonly [number, number])[], radius = 8): string {
  const steps: string[] = [];
  points.forEach(([x, y], place) => {
    const [before, after] = [points[place - 1], points[place + 1]];
    if (before === undefined) steps.push(`M${x} ${y}`);
    else if (after === undefined) steps.push(`L${x} ${y}`);
    else {
      const near = ([ox, oy]: readonly [number, number]): string => {
        const length = Math.hypot(ox - x, oy - y);
        const share = length === 0 ? 0 : Math.min(radius, length / 2) / length;
        return `${x + (ox - x) * share} ${y + (oy - y) * share}`;
      };
      steps.push(`L${near(before)}`, `Q${x} ${y} ${near(after)}`);
    }
  });
  return steps.join("");
}
