/** How the model learned: a page without its training says how one is made that has it. */

import type { VNode } from "preact";
import { say } from "../../words/say.ts";
import { lost, told, useTraining } from "./followed.ts";
import { HowTo } from "./how_to.tsx";

const { Training } = await import("./trained.tsx");

export function TrainingView(): VNode {
  useTraining();
  const known = told.value;
  if (known === null) return <p class="label">{say`The training is read …`}</p>;
  if (known === undefined) return <Unknown />;
  return <Training told={known} />;
}

function Unknown(): VNode {
  return (
    <>
      <h1 class="big">{say`How it learned`}</h1>
      <p class="says plain">
        {lost.value === ""
          ? say`This page knows nothing of the model’s training: the model was not read from the folder of its run, or the page was written without it. With it, this page shows the loss over the steps and, at about a hundred of them, what the model guessed about your sentences and what each of its heads did.`
          : say`The training cannot be read: ${lost.value}`}
      </p>
      <HowTo />
    </>
  );
}
