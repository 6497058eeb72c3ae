/** Beside the whole model: the part in hand, what it is for, what enters and leaves it. */

import type { VNode } from "preact";
import { link, state } from "../../address/state.ts";
import { counted, grouped, percent } from "../../numbers/written.ts";
import { Corrections } from "../../views/corrections.tsx";
import { useStore } from "../../views/hooks.ts";
import { Labelled } from "../../views/pieces.tsx";
import { pointedSpot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { KIND_WORDS, KINDS, type Part, partsOf } from "./parts.ts";

export function ModelBeside(): VNode | null {
  const { names, source } = useStore();
  const parts = partsOf(names);
  const pointed = pointedSpot.value;
  const attention = pointed?.startsWith("heads ") === true ? pointed.slice(6) : null;
  const unit = attention === null ? (pointed ?? state.value.unit) : attention.replace(/\.[a-z_]+$/, "");
  const part =
    parts.find((each) => each.unit === unit) ?? parts.find((each) => each.unit === state.value.unit) ?? parts[0];
  if (part === undefined) return null;
  const total = names.run.model.parameters;
  const tensors = names.run.formulas.filter((formula) => formula.unit === part.unit);
  const sizes = (name: string): string => (source.shape(name) ?? []).join(" × ");
  return (
    <>
      <Labelled label={say`The part in hand`}>
        <p class="big">{names.unit(part.unit)}</p>
        <p class="said">{purpose(part)}</p>
        <p>
          <a class="strong" href={link({ level: "block", unit: part.unit, layout: [] })}>
            {say`Open this part →`}
          </a>
        </p>
      </Labelled>
      <Labelled label={say`Weights`}>
        <p>
          {counted(part.weights, "weight")}
          {total > 0 && say`, ${percent(part.weights / total)} of the model`}
        </p>
        {KINDS.filter((kind) => part.kinds[kind] > 0).map((kind) => (
          <p class="quiet" key={kind}>
            {KIND_WORDS[kind]} {grouped(part.kinds[kind])}
          </p>
        ))}
        {part.tied.map((name) => (
          <p key={name}>
            {say`It uses the ${names.title(name)} of an earlier part again: tied weights, counted there.`}
          </p>
        ))}
      </Labelled>
      <Labelled label={say`Numbers of this text`}>
        {[...part.reads].map(([from, name]) => (
          <p key={from}>{say`from ${names.unit(from)}: ${<b>{sizes(name)}</b>}`}</p>
        ))}
        <p>{say`ends with “${names.title(part.last)}”: ${<b>{sizes(part.last)}</b>}`}</p>
        <p class="quiet">{say`${counted(tensors.length, "tensor")} on the way`}</p>
      </Labelled>
      <Corrections of={say`this part`} tensors={tensors.map(({ name }) => name)} />
      <Corrections of={say`models of this kind`} />
    </>
  );
}

/** What a part of this kind is for, in one sentence. */
function purpose({ unit, attentions }: Part): string {
  const kind = unit.split(".").at(1) ?? unit;
  if (kind === "blocks") {
    const crossing = attentions.some((name) => name.endsWith("cross_attention"));
    return crossing
      ? say`Each token collects from the tokens before it (self-attention), then from the encoder's text (cross-attention), then is worked on alone (feed-forward).`
      : say`Each token collects from the other tokens what its heads look for (attention), then is worked on alone (feed-forward).`;
  }
  const known: Readonly<Record<string, string>> = {
    embed: say`Each token becomes a vector: looked up in a learned table, with what tells its position.`,
    norm: say`Each vector is brought to a common scale.`,
    relative_bias: say`What the distance between two tokens adds to their scores, in every block.`,
    head: say`From the last vectors to a score and a probability for each token of the vocabulary.`,
    sentence_head: say`One vector for the text, and from it a score for each label.`,
    token_head: say`A score for each label at each token.`,
    choice: say`The scores of the candidates become probabilities.`,
    loss: say`How wrong the model is, in one number.`,
  };
  return known[kind] ?? say`A part of the model.`;
}
