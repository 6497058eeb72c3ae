/** Temperature and seed: moved, the text is rewritten from the word in hand. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";

/** Beyond this a text is hardly one any more. */
const HOTTEST = 2;
const SEEDS = 99;

export interface SlidersProps {
  readonly temperature: number;
  readonly seed: number;
  /** Why they cannot be moved; empty: they can. */
  readonly still: string;
  /** Where the text is rewritten from, in words. */
  readonly from: string;
  onMove(name: "temperature" | "seed", value: number): void;
}

export function Sliders({ temperature, seed, still, from, onMove }: SlidersProps): VNode {
  return (
    <fieldset class="sliders" disabled={still !== ""}>
      <legend class="away">{say`How it is drawn`}</legend>
      <Slider
        label={say`temperature`}
        value={temperature}
        most={Math.max(HOTTEST, temperature)}
        step={0.05}
        told={(value) => (value === 0 ? say`0: always the likeliest` : short(value, 2))}
        onMove={(value) => onMove("temperature", value)}
      />
      <Slider
        label={say`seed`}
        value={seed}
        most={Math.max(SEEDS, seed)}
        step={1}
        told={String}
        onMove={(value) => onMove("seed", value)}
      />
      <button type="button" onClick={() => onMove("seed", seed + 1)}>
        {say`another seed`}
      </button>
      <small class="quiet">{still || say`Rewrites ${from}.`}</small>
    </fieldset>
  );
}

function Slider(props: {
  readonly label: string;
  readonly value: number;
  readonly most: number;
  readonly step: number;
  told(value: number): string;
  onMove(value: number): void;
}): VNode {
  const { label, value, most, step, told, onMove } = props;
  // While it is moved nothing is written: only where it is let go.
  const [moved, setMoved] = useState<number | null>(null);
  const shown = moved ?? value;
  return (
    <label>
      {label}
      <input
        type="range"
        min={0}
        max={most}
        step={step}
        value={shown}
        aria-valuetext={told(shown)}
        onInput={(event) => setMoved(Number(event.currentTarget.value))}
        onChange={(event) => {
          setMoved(null);
          onMove(Number(event.currentTarget.value));
        }}
      />
      <output>{told(shown)}</output>
    </label>
  );
}
