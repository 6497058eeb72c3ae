/** The colours of what heads do, and for each the pattern to look for in a small picture. */

import type { VNode } from "preact";
import { JOBS, type Job } from "./jobs.ts";

/** The theme's colours for what heads do. */
export function jobColours(): Readonly<Record<Job, string>> {
  const style = getComputedStyle(document.documentElement);
  const colours = JOBS.map((job): [Job, string] => [job, style.getPropertyValue(`--job-${job}`).trim()]);
  return Object.fromEntries(colours) as Record<Job, string>;
}

/** What a picture of weights looks like: rows are the tokens that look, columns those that are looked at. */
const PATTERNS: Readonly<Record<Job, string>> = {
  previous: "M1 5L11 15",
  next: "M5 1L15 11",
  self: "M1 1L15 15",
  first: "M2 1V15",
  separator: "M14 1V15",
  same_word: "M11 3h3v3h-3zM3 11h3v3h-3z",
  few: "M4 3h2M10 6h2M6 10h2M12 12h2M3 13h2",
  many: "M1 4h14M1 8h14M1 12h14",
};

export function Mark({ job }: { job: Job }): VNode {
  return (
    <svg class="mark-of-job" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="0.5" y="0.5" width="15" height="15" fill="none" stroke="var(--hair)" />
      <path d={PATTERNS[job]} fill="none" stroke={`var(--job-${job})`} stroke-width={job === "many" ? 1 : 2.5} />
    </svg>
  );
}
