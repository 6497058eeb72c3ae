/** How a live page searches. */

import type { VNode } from "preact";
import { go } from "../../../address/state.ts";
import { say } from "../../../words/say.ts";
import { draws, option, type Written, withOption } from "../written/options.ts";
import { TOKENS } from "./searching.ts";

const BEAMS = ["", "1", "2", "3", "5", "8", "12", "16"];
const ALPHAS = ["", "0", "0.6", "1", "2"];

export function Ways({ written, folded }: { written: Written | null; folded: boolean }): VNode {
  const draw = draws(written);
  const translates = written === "translation";
  const set = (name: string, value: string): void => {
    go({ options: withOption(name, value), ...(translates ? { at: [] } : {}) }, true);
  };
  const field = (name: string, text: string, usual: string): VNode => (
    <label>
      {text}
      <input
        type="number"
        min="0"
        step="any"
        value={option(name)}
        placeholder={usual}
        onChange={(event) => set(name, event.currentTarget.value)}
      />
    </label>
  );
  const choice = (name: string, text: string, values: readonly string[]): VNode => (
    <label>
      {text}
      <select value={option(name)} onChange={(event) => set(name, event.currentTarget.value)}>
        {values.map((value) => (
          <option value={value} key={value}>
            {value === "" ? say`as trained` : value}
          </option>
        ))}
      </select>
    </label>
  );
  const ways = (
    <div class="controls tree-ways">
      <label>
        {say`search`}
        <select value={draw ? "1" : "0"} onChange={(event) => set("draw", event.currentTarget.value)}>
          <option value="0">{say`with beams`}</option>
          <option value="1">{say`by drawing`}</option>
        </select>
      </label>
      {!draw && choice("beams", say`beams`, BEAMS)}
      {!draw && option("beams") !== "1" && choice("alpha", say`length penalty α`, ALPHAS)}
      {draw && field("temperature", say`temperature`, translates ? "1" : say`usual`)}
      {draw && field("top-k", "top-k", say`all`)}
      {draw && field("top-p", "top-p", translates ? "1" : say`usual`)}
      {draw && field("seed", say`seed`, "0")}
      {draw && field("texts", say`texts`, "1")}
      {!translates && field("tokens", say`tokens`, String(TOKENS))}
    </div>
  );
  if (!folded) return ways;
  return (
    <details class="more-ways">
      <summary>{say`more about how it is written`}</summary>
      {ways}
    </details>
  );
}
