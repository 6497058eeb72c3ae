/** A change made by hand; places and tokens are indices or words, `cell` has null for an axis that is taken whole. */
export type Step =
  | { kind: "change_word"; token: Place; id: Place; sentence?: number; where?: Side }
  | { kind: "mask_word"; token: Place; mask_id?: Place | null; sentence?: number; where?: Side }
  | { kind: "allow" | "forbid"; attention: string; query: Place; key: Place; head?: number | null; sentence?: number }
  | { kind: "replace"; where: string; by: number | "mean"; cell?: readonly (number | null)[] }
  | { kind: "patch"; where: string; run: string; cell?: readonly (number | null)[] };

type Place = number | string;
type Side = "inputs" | "decoder_inputs";
