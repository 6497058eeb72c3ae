/** The heads as they were at the steps that are looked at, on one of the watched sentences. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { link, state } from "../../address/state.ts";
import { grouped } from "../../numbers/written.ts";
import { headsOf, type Record, type Sentence, type Told } from "../../run/training.ts";
import { usePalette, useWidth } from "../../views/hooks.ts";
import { Spots } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { headsScene, type Row, sizeFor } from "../heads/heads_scene.ts";
import { jobColours } from "../heads/job_marks.tsx";
import { RULE, whereOf } from "../heads/jobs.ts";
import { attentionsAmong } from "../heads/rows.ts";
import { type Column, Words } from "./guesses.tsx";

/** The largest room for one head: many steps are looked at, and all heads should be seen at once. */
const PITCH = 80;

type Watched = NonNullable<Told["watched"]>;

export function HeadsThen({ watched, columns }: { watched: Watched; columns: readonly Column[] }): VNode | null {
  const { options } = state.value;
  const asked = Number(options.find((each) => each.startsWith("sentence."))?.slice(9) ?? 0);
  const index = asked < watched.sentences.length ? asked : 0;
  const sentence = watched.sentences[index];
  if (sentence === undefined || sentence.attentions.length === 0) return null;
  const others = options.filter((each) => !each.startsWith("sentence."));
  return (
    <section class="block">
      <h2>{say`Its heads`}</h2>
      <p class="label">{say`row: the token that looks, column: where; darker is a larger share`}</p>
      {watched.sentences.length > 1 && (
        <p class="controls">
          {watched.sentences.map((each, place) => (
            <a href={link({ options: [...others, `sentence.${place}`] })} aria-current={place === index}>
              <Words sentence={each} />
            </a>
          ))}
        </p>
      )}
      <div class="columns">
        {columns.map(({ name, record }) => (
          <OneStep
            key={name}
            name={columns.length > 1 ? `${name}step ${grouped(record.step)}` : ""}
            sentence={sentence}
            index={index}
            record={record}
            statistics={watched.statistics}
          />
        ))}
      </div>
      <p class="rule-of-heads">{RULE}</p>
    </section>
  );
}

function OneStep({
  name,
  sentence,
  index,
  record,
  statistics,
}: {
  name: string;
  sentence: Sentence;
  index: number;
  record: Record;
  statistics: readonly string[];
}): VNode {
  const { box, width } = useWidth();
  const palette = usePalette();
  const answered = record.sentences?.[index];
  const job = useMemo(jobColours, [palette]);
  const rows = useMemo(() => {
    return answered === undefined ? [] : rowsOf(sentence, headsOf(sentence, answered, statistics));
  }, [sentence, answered, statistics]);
  const drawn = useMemo(() => {
    if (rows.length === 0 || width === 0) return null;
    const most = Math.max(...rows.map(({ heads }) => heads.measured.length));
    const dots = Math.max(...sentence.attentions.map(({ picture }) => Math.max(...picture)));
    const size = sizeFor(Math.min(width, most * PITCH), most, dots);
    const title = (): string => whereOf("few", { first: "", closing: "" });
    return headsScene(rows, { palette, job, arrange: "", only: null, title }, size, width);
  }, [rows, palette, job, width]);
  return (
    <div class="column" ref={box} data-heads-of={record.step}>
      {name !== "" && <p class="label">{name}</p>}
      {drawn !== null && (
        <Spots
          scene={drawn.scene}
          spots={drawn.spots}
          label={say`All heads after step ${record.step}`}
          inHand=""
          onMove={() => {}}
          onOpen={() => {}}
        />
      )}
    </div>
  );
}

/** The attentions of a sentence as rows of heads. */
function rowsOf(sentence: Sentence, heads: ReturnType<typeof headsOf>): Row[] {
  const { attentions } = sentence;
  const place = new Map(attentions.map(({ name }, order) => [`${name}.weights`, order]));
  const shapes = (name: string): readonly number[] => {
    const found = attentions[place.get(name) ?? 0];
    return found === undefined ? [] : [1, found.heads, ...found.shape];
  };
  return attentionsAmong([...place.keys()], shapes).flatMap((each): Row[] => {
    const found = heads[place.get(`${each.attention}.weights`) ?? -1];
    return found === undefined ? [] : [{ ...each, heads: found }];
  });
}
