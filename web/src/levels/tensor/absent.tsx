/** In the place of a tensor that this page does not carry. */

import type { VNode } from "preact";
import { counted } from "../../numbers/written.ts";
import { DifferenceSource } from "../../sources/difference.ts";
import { Command } from "../../views/command.tsx";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";

/** The whole view of a tensor that is not in this page. */
export function AbsentView({ name }: { name: string }): VNode {
  const { names } = useStore();
  return (
    <>
      <h1 class="big">{names.title(name)}</h1>
      <Absent name={name} />
    </>
  );
}

/** Says that a tensor is not in this page, why, and what helps. */
export function Absent({ name }: { name: string }): VNode {
  const { source } = useStore();
  if (source instanceof DifferenceSource) {
    return (
      <p class="wrong">
        {say`${<b>{name}</b>} cannot be subtracted: it has not the same size in A and in B. Each of them can be opened alone.`}
      </p>
    );
  }
  const { run } = source;
  const rows = run.rows[name]?.length;
  return (
    <p class="wrong">
      {rows === undefined
        ? say`${<b>{name}</b>} is not in this page${
            run.left_out[name] === "limit"
              ? say`, which has at most ${counted(Math.round(run.limit / 1e6), "megabyte")}`
              : say`: its trace was saved without this tensor and without the model`
          }`
        : say`Of ${<b>{name}</b>} this page has the rows of ${counted(rows, "word")}: those of the text and the best guesses at each place`}
      .{" "}
      {run.left_out[name] === "not saved"
        ? say`To include it, write the page from a trace that has its model.`
        : say`To include all of it, write the page again with this option:`}
      {run.left_out[name] !== "not saved" && <Command text="--megabytes 64" />}
    </p>
  );
}
