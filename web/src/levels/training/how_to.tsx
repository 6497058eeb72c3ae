/** How a model is trained so that this page can show how it learned. */

import type { VNode } from "preact";
import { link } from "../../address/state.ts";
import { Command } from "../../views/command.tsx";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";

/** How the watched sentences get into a run: training of the kind of this model, and what shows it. */
export function HowTo(): VNode {
  const { model } = useStore().names.run;
  const sides = model.stacks.map(({ side }) => side).join();
  const how = COMMANDS[sides] ?? COMMANDS["encoder"] ?? "";
  return (
    <div class="says plain">
      {model.family === "slides" && (
        <p>
          <a class="strong" href={link({ level: "learn", options: [], at: [] })}>
            {say`train it here`} →
          </a>
        </p>
      )}
      <p>{say`Train a model with sentences to watch:`}</p>
      <Command text={`glassformer train ${how}`} />
      <p>{say`Look at it, also while it still trains; or write the page of a text with its training:`}</p>
      <Command text="glassformer explore runs/mine" />
      <Command text='glassformer explain runs/mine "your text" --html page.html' />
    </div>
  );
}

/** By the stacks of a model, what trains one like it and watches a sentence. */
const COMMANDS: { readonly [sides: string]: string } = {
  encoder: 'masked-lm notes.txt --out runs/mine --watch "The [MASK] sat on the mat."',
  decoder: 'language-model notes.txt --out runs/mine --watch "The cat sat on"',
  "encoder,decoder": `translate pairs.tsv --out runs/mine --watch "$(printf 'I am a student.\\tJe suis étudiant.')"`,
};
