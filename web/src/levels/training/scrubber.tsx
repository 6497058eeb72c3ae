/** At the foot: the step in hand, moved by mouse, by keys, or by itself; and the steps that are kept to compare. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { go, state } from "../../address/state.ts";
import { grouped, short } from "../../numbers/written.ts";
import type { Record } from "../../run/training.ts";
import { plain } from "../../views/plain.ts";
import { say } from "../../words/say.ts";
import { choose, PINS, type Pin, pinned, placeInHand, withPin } from "./followed.ts";

/** Milliseconds from one record to the next while it plays. */
const PACE = 150;

export function Scrubber({ records }: { records: readonly Record[] }): VNode | null {
  const place = placeInHand(records);
  const last = records.length - 1;
  const [playing, setPlaying] = useState(false);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const record = records[place];
  useEffect(() => {
    if (!playing) return;
    if (place >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => choose(records, place + 1), PACE);
    return () => clearTimeout(timer);
  }, [playing, place, last, records]);
  const play = (): void => {
    // Where the system asks for less motion, each press is one record.
    if (still) choose(records, place >= last ? 0 : place + 1);
    else {
      if (!playing && place >= last) choose(records, 0);
      setPlaying(!playing);
    }
  };
  const keep = (pin: Pin): void => {
    const step = record?.step ?? 0;
    const before = pinned(state.value, pin);
    go({ options: withPin(state.value.options, pin, before === step ? null : step) }, true);
  };
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      const target = event.target as HTMLElement;
      const own = target.closest("canvas, select, textarea, summary, button, a, input") !== null;
      const to: Readonly<{ [key: string]: number }> = {
        ArrowLeft: place - 1,
        ArrowRight: place + 1,
        Home: 0,
        End: last,
      };
      const next = to[event.key];
      const pin = PINS.find((each) => event.key === each);
      if (pin !== undefined && target.closest("select, textarea") === null) keep(pin);
      else if (own) return;
      else if (next !== undefined) choose(records, next);
      else if (event.key === " ") play();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  if (record === undefined) return null;
  const loss = record.loss === null ? say`before the first step` : say`loss ${short(record.loss)}`;
  return (
    <section class="scrubber" aria-label={say`the step in hand`}>
      <button type="button" class="play" onClick={play} aria-pressed={playing}>
        {still ? say`next` : playing ? say`pause` : say`play`}
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={place}
        aria-label={say`record`}
        aria-valuetext={say`step ${grouped(record.step)}, ${loss}`}
        onInput={(event) => {
          setPlaying(false);
          choose(records, Number(event.currentTarget.value));
        }}
      />
      <output>{say`step ${grouped(record.step)}`}</output>
      {PINS.map((pin) => {
        const step = pinned(state.value, pin);
        return (
          <button type="button" class="pin" key={pin} onClick={() => keep(pin)} aria-pressed={step !== null}>
            {step === null
              ? say`keep as ${pin}`
              : step === record.step
                ? say`${pin}: let go`
                : `${pin}: ${grouped(step)}`}
          </button>
        );
      })}
    </section>
  );
}
