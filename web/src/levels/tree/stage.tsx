/** The text in large type as it grows, with lines from the word that is written to what it looked at. */

import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { written } from "../../numbers/letters.ts";
import { useWidth } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { type Box, curve, strongest } from "./written/line.ts";

/** How a blank of a token is written. */
const BLANK = "▁";
/** A token that stands for no letters, as that of a beginning. */
const MARK = /^[<[].*[>\]]$/;
/** How the end of a line is written. */
const LINE_END = "\\n";
/** So many tokens at most are kept in one line: of a script without blanks none would break. */
const TOGETHER = 8;
/** Of a text of so many tokens the letters are smaller. */
const LONG = 90;

/** What the word that is written looks at: the share of each token, in a colour. */
export interface Beam {
  readonly side: "own" | "source";
  readonly colour: string;
  readonly shares: readonly number[];
}

export interface StageProps {
  readonly words: readonly string[];
  /** The words that are looked at in another text: the source, or what was said. */
  readonly source: readonly string[] | null;
  /** The token that was read last: the next one is written in this step. */
  readonly step: number;
  readonly given: number;
  /** What stands where the text has ended. */
  readonly end: string;
  /** What comes later is not shown, but keeps its place. */
  readonly hides: boolean;
  readonly playing: boolean;
  readonly beams: readonly Beam[];
  /** Of each word before this one the word of the source that it looked at most. */
  readonly aligned: readonly (readonly [word: number, source: number])[];
  readonly label: string;
  /** Whether the lines are turns of a conversation. */
  readonly talks: boolean;
  onGo(token: number): void;
}

interface Path {
  readonly d: string;
  readonly colour: string;
  readonly width: number;
  readonly strength: number;
}

export function Stage(props: StageProps): VNode {
  const { words, source, step, given, end, hides, playing, beams, aligned, label, talks, onGo } = props;
  const { box, width } = useWidth();
  const [paths, setPaths] = useState<readonly Path[]>([]);
  const last = useRef("");
  useLayoutEffect(() => {
    const next = box.current === null ? [] : pathsOf(box.current, step, beams, aligned);
    const key = JSON.stringify(next);
    if (key === last.current) return;
    last.current = key;
    setPaths(next);
  });
  const size = words.length + (source?.length ?? 0) > LONG ? "long" : "";
  const height = box.current?.scrollHeight ?? 0;
  const shareOf = (side: Beam["side"], key: number): number => {
    return Math.max(0, ...beams.filter((beam) => beam.side === side).map(({ shares }) => shares[key] ?? 0));
  };
  return (
    <div class="stage-text" ref={box} data-size={size} data-playing={playing}>
      <svg aria-hidden="true" width={width} height={height}>
        {paths.map(({ d, colour, width: line, strength }, place) => (
          <path key={place} d={d} fill="none" stroke={colour} stroke-width={line} opacity={strength} />
        ))}
      </svg>
      {source !== null && (
        <section class="read-from" aria-label={say`what is read`}>
          {linesOf(source).map((keys, line, lines) => (
            <p key={line} data-role={talks ? ((lines.length - line) % 2 === 1 ? "you" : "model") : undefined}>
              {groupsOf(source, keys).map((group) => (
                <span key={group[0]} class="whole-word">
                  {group.map((key) => (
                    <span
                      key={key}
                      data-key={`s${key}`}
                      data-mark={MARK.test(source[key] ?? "")}
                      style={{ "--share": String(shareOf("source", key)) }}
                    >
                      <bdi>{bare(source[key] ?? "")}</bdi>
                    </span>
                  ))}
                </span>
              ))}
            </p>
          ))}
        </section>
      )}
      <section class="growing" aria-label={label}>
        <p data-role={talks ? "model" : undefined}>
          {groupsOf(words, [...words.keys()]).map((group) => (
            <span key={group[0]} class="whole-word">
              {group.map((token) => {
                const where = token <= step ? "read" : token === step + 1 ? "now" : hides ? "hidden" : "later";
                return (
                  <button
                    type="button"
                    key={token}
                    data-key={`d${token}`}
                    data-where={where}
                    data-given={token < given}
                    data-mark={MARK.test(words[token] ?? "")}
                    aria-current={where === "now"}
                    style={{ "--share": String(token <= step ? shareOf("own", token) : 0) }}
                    onClick={() => onGo(token)}
                  >
                    <bdi>{bare(words[token] ?? "")}</bdi>
                  </button>
                );
              })}
            </span>
          ))}
          {step + 1 >= words.length && (
            <span data-key={`d${words.length}`} data-where="now" data-end="true">
              {end}
            </span>
          )}
        </p>
      </section>
    </div>
  );
}

/** A word as it is drawn: without the blank before it. */
function bare(word: string): string {
  if (word === LINE_END) return "↵";
  return written(word.startsWith(BLANK) && word.length > 1 ? word.slice(1) : word);
}

/** The lines of a text, each by its tokens: a turn of a conversation is one. */
export function linesOf(words: readonly string[]): number[][] {
  const lines: number[][] = [[]];
  for (const [token, word] of words.entries()) {
    lines.at(-1)?.push(token);
    if (word === LINE_END && token + 1 < words.length) lines.push([]);
  }
  return lines;
}

/** Where blanks are parts of tokens, the tokens of one word stand together: each word by its tokens. */
export function groupsOf(words: readonly string[], tokens: readonly number[]): number[][] {
  const blanks = words.some((each) => each.startsWith(BLANK));
  const groups: number[][] = [];
  for (const token of tokens) {
    const [word = "", before = ""] = [words[token], words[token - 1]];
    const last = groups.at(-1);
    const glued = blanks && !word.startsWith(BLANK) && ![word, before].some((each) => MARK.test(each));
    if (glued && last !== undefined && last.length < TOGETHER) last.push(token);
    else groups.push([token]);
  }
  return groups;
}

function pathsOf(
  stage: HTMLElement,
  step: number,
  beams: readonly Beam[],
  aligned: StageProps["aligned"],
): readonly Path[] {
  const frame = stage.getBoundingClientRect();
  const boxOf = (key: string): Box | null => {
    const found = stage.querySelector(`[data-key="${key}"]`)?.getBoundingClientRect();
    return found === undefined ? null : { x: found.x - frame.x, y: found.y - frame.y, w: found.width, h: found.height };
  };
  const row = Number.parseFloat(getComputedStyle(stage).getPropertyValue("--row")) || 64;
  const between = (from: string, to: string): string | null => {
    const [one, two] = [boxOf(from), boxOf(to)];
    return one === null || two === null ? null : curve(one, two, row);
  };
  const found: Path[] = [];
  for (const [word, source] of aligned) {
    const d = between(`d${word}`, `s${source}`);
    if (d !== null) found.push({ d, colour: "var(--quiet)", width: 1, strength: 0.55 });
  }
  for (const { side, colour, shares } of beams) {
    for (const key of strongest(shares)) {
      const share = shares[key] ?? 0;
      const d = between(`d${step + 1}`, `${side === "own" ? "d" : "s"}${key}`);
      if (d !== null) found.push({ d, colour, width: 1 + Math.round(60 * share) / 10, strength: 0.35 + 0.5 * share });
    }
  }
  return found;
}

/** What was said before, the last turn being the one that is answered: the reader's. */
export function Turns({ turns }: { turns: readonly string[] }): VNode | null {
  if (turns.length === 0) return null;
  return (
    <ol class="turns" aria-label={say`the conversation so far`}>
      {turns.map((turn, place) => (
        <li key={place} data-role={(turns.length - place) % 2 === 1 ? "you" : "model"}>
          <bdi>{written(turn)}</bdi>
        </li>
      ))}
    </ol>
  );
}
