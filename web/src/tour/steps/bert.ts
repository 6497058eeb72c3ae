/** What BERT is trained on and used for. */

import { counted } from "../../run/numbers.ts";
import type { Step } from "../step.ts";

const both: Step = {
  key: "both",
  find: (s) => ({
    puts: { words: counted(s.tokens, "token"), word: s.word(s.example.query) },
    at: s.at("block", s.of("weights")),
  }),
};

export const BERT: readonly Step[] = [both];
