import type { Step } from "../step.ts";

const end: Step = { key: "end", find: (s) => ({ puts: {}, at: s.at("block", s.embed("word")) }) };

export const TRANSLATION: readonly Step[] = [end];
