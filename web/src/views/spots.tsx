/** A scene on a canvas with spots that can be pointed at, walked through by arrow keys, and opened. */

import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { paint } from "../draw/canvas.ts";
import type { Scene } from "../draw/scene.ts";
import { SANS } from "./picture.tsx";
import { plain } from "./plain.ts";

export interface Spot {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  /** What it is, for people who do not see it. */
  readonly label: string;
}

/** The spot under the mouse; null = none. */
export const pointedSpot = signal<string | null>(null);

export interface SpotsProps {
  readonly scene: Scene;
  readonly spots: readonly Spot[];
  readonly label: string;
  readonly inHand: string;
  /** Arrow keys came to a spot. */
  onMove(id: string): void;
  /** A spot was clicked, or Enter was pressed there; where clicks choose, it was clicked twice. */
  onOpen(id: string): void;
  /** A spot was clicked; where this is left out, a click opens. */
  onChoose?(id: string): void;
  /** The spot that a key leads to from the one in hand, where that is not the nearest in its direction. */
  next?(from: string, key: string): string | undefined;
}

export function Spots({ scene, spots, label, inHand, onMove, onOpen, onChoose, next: follow }: SpotsProps): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const byKey = useRef(false);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context != null) paint(context, scene, SANS);
  }, [scene]);
  useEffect(
    () => () => {
      pointedSpot.value = null;
    },
    [],
  );
  useEffect(() => {
    if (byKey.current) frame.current?.scrollIntoView({ block: "nearest" });
    byKey.current = false;
  }, [inHand]);
  const own = spots.find((spot) => spot.id === inHand);
  const hovered = spots.find((spot) => spot.id === pointedSpot.value);
  const under = ({ offsetX, offsetY }: MouseEvent): Spot | undefined => {
    const zoom = canvas.current?.currentCSSZoom ?? 1;
    return spotAt(spots, offsetX / zoom, offsetY / zoom);
  };
  const point = (event: MouseEvent): void => {
    pointedSpot.value = under(event)?.id ?? null;
  };
  const key = (event: KeyboardEvent): void => {
    if (!plain(event)) return;
    pointedSpot.value = null;
    if (event.key === "Enter" && own !== undefined) onOpen(own.id);
    else {
      const led = own === undefined || follow === undefined ? undefined : follow(own.id, event.key);
      const next = led === undefined ? nextSpot(spots, own, event.key) : spots.find(({ id }) => id === led);
      if (next === undefined) return;
      byKey.current = true;
      onMove(next.id);
    }
    event.preventDefault();
  };
  return (
    <div class="picture">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: its spots are walked through by keys of its own */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={label}
        style={{ cursor: hovered === undefined ? "default" : "pointer" }}
        onMouseMove={point}
        onMouseLeave={() => {
          pointedSpot.value = null;
        }}
        onClick={(event) => {
          const found = under(event);
          if (found === undefined) return;
          if (onChoose !== undefined && event.detail < 2) onChoose(found.id);
          else onOpen(found.id);
        }}
        onKeyDown={key}
      />
      {hovered !== undefined && hovered !== own && <Frame spot={hovered} line={1} />}
      {own !== undefined && <Frame spot={own} line={2} element={frame} />}
      <p class="away" aria-live="polite">
        {own?.label}
      </p>
    </div>
  );
}

function Frame({
  spot,
  line,
  element,
}: {
  spot: Spot;
  line: number;
  element?: { current: HTMLDivElement | null };
}): VNode {
  const style = {
    left: `${spot.x}px`,
    top: `${spot.y}px`,
    width: `${spot.w}px`,
    height: `${spot.h}px`,
    outlineWidth: `${line}px`,
  };
  return <div ref={element ?? null} class="frame-of-cell" style={style} />;
}

/** The innermost spot under a point: a spot within another stands after it. */
export function spotAt(spots: readonly Spot[], x: number, y: number): Spot | undefined {
  return spots.findLast((spot) => x >= spot.x && x < spot.x + spot.w && y >= spot.y && y < spot.y + spot.h);
}

const DIRECTIONS: Readonly<Record<string, readonly [along: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The next spot in the direction of an arrow key: near, and not far to the side; from none the first. */
export function nextSpot(spots: readonly Spot[], from: Spot | undefined, key: string): Spot | undefined {
  if (key === "Home") return spots[0];
  if (key === "End") return spots.at(-1);
  const direction = DIRECTIONS[key];
  if (direction === undefined) return undefined;
  if (from === undefined) return spots[0];
  const [along, down] = direction;
  const middle = ({ x, y, w, h }: Spot): [number, number] => [x + w / 2, y + h / 2];
  const [x, y] = middle(from);
  let best: { spot: Spot; cost: number } | undefined;
  for (const spot of spots) {
    const [dx, dy] = [middle(spot)[0] - x, middle(spot)[1] - y];
    const ahead = dx * along + dy * down;
    const aside = Math.abs(dx * down) + Math.abs(dy * along);
    const cost = ahead + 3 * aside;
    if (ahead > 1 && (best === undefined || cost < best.cost)) best = { spot, cost };
  }
  return best?.spot;
}
