/** The loss over the steps: dragged, it shows the step under the hand. */

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { fewer } from "../../learn/written.ts";
import { grouped, short } from "../../numbers/written.ts";
import { useWidth } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { ticksBetween } from "../training/curve_scene.ts";
import { TITLES } from "./controls.tsx";
import { goTo, type Lesson } from "./lesson.ts";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [36, 12, 12, 24, 168];
/** Above this the picture is cut off: a rate that is too high would press all else flat. */
const MOST = 2;

export function Curve({ now, loss }: { now: Lesson; loss: number }): VNode {
  const { box, width } = useWidth();
  const svg = useRef<SVGSVGElement>(null);
  const { learner, past, names } = now;
  const points = fewer(learner.losses);
  if (learner.step === learner.tip && Number.isFinite(loss)) points.push([learner.step, loss]);
  const even = Math.log(names.run.words.vocabulary.length);
  const before = past === null ? [] : past.steps.map((step, at): [number, number] => [step, past.losses[at] ?? 0]);
  const largest = Math.min(Math.max(even, ...points.map(([, each]) => each)), MOST * even);
  const ticks = ticksBetween(0, largest, 3);
  const high = ticks.at(-1) ?? 1;
  const last = Math.max(100, learner.tip);
  const along = (step: number): number => LEFT + (Math.min(step, last) / last) * (width - LEFT - RIGHT);
  const down = (each: number): number => TOP + (1 - Math.min(each, high) / high) * (HEIGHT - TOP - BOTTOM);
  const path = (all: readonly (readonly [number, number])[]): string =>
    all.length === 0
      ? ""
      : `M${all.map(([step, each]) => `${along(step).toFixed(1)} ${down(each).toFixed(1)}`).join("L")}`;
  const drag = (event: PointerEvent): void => {
    if (event.buttons === 0 && event.type !== "pointerdown") return;
    const left = svg.current?.getBoundingClientRect().left ?? 0;
    const share = (event.clientX - left - LEFT) / Math.max(width - LEFT - RIGHT, 1);
    goTo(Math.round(share * last));
  };
  const steps = ticksBetween(0, last, width < 500 ? 3 : 6).filter((each) => each <= last);
  return (
    <section class="learn-curve" aria-label={say`the loss over the steps`}>
      <div ref={box}>
        {width > 0 && (
          <svg
            ref={svg}
            width={width}
            height={HEIGHT}
            aria-hidden="true"
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              drag(event);
            }}
            onPointerMove={drag}
          >
            {ticks.map((tick) => (
              <g key={tick}>
                <path class="grid" d={`M${LEFT} ${down(tick)}H${width - RIGHT}`} />
                <text x={LEFT - 6} y={down(tick) + 4} text-anchor="end">
                  {short(tick, 1)}
                </text>
              </g>
            ))}
            {steps.map((step) => (
              <text key={step} x={along(step)} y={HEIGHT - 6} text-anchor={step === 0 ? "start" : "middle"}>
                {grouped(step)}
              </text>
            ))}
            <path class="even" d={`M${LEFT} ${down(even)}H${width - RIGHT}`} />
            <path class="past" d={path(before.filter(([step]) => step <= last))} />
            <path class="loss" d={path(points)} />
            <path class="here" d={`M${along(learner.step)} ${TOP}V${HEIGHT - BOTTOM}`} />
            {Number.isFinite(loss) && <circle class="here" cx={along(learner.step)} cy={down(loss)} r={4} />}
          </svg>
        )}
      </div>
      <label class="learn-scrub">
        <span class="away">{say`step`}</span>
        <input
          type="range"
          min={0}
          max={learner.tip}
          value={learner.step}
          aria-valuetext={say`step ${learner.step}, loss ${short(loss)}`}
          onInput={(event) => goTo(Number(event.currentTarget.value))}
        />
        <output>{say`step ${grouped(learner.step)} of ${grouped(learner.tip)}`}</output>
      </label>
      <p class="quiet label">
        {say`${<span class="line-loss" />} loss ${<span class="line-even" />} all equally likely${past !== null && <>{say`${<span class="line-past" />} before: ${TITLES[past.choice.exercise][0]}`}</>}`}
      </p>
    </section>
  );
}
