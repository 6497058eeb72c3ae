/** How the page asks a server for parts of a run. Made from `addresses.json` by `make web`: change it there. */

/** Where a page asks for something of a run: the key of the run, and what is asked for. */
export const RUN_PATH = "api/runs/{key}/{what}";

/** What can be asked for, and what each is asked with, in the order in which an address has it. */
export const QUERIES = {
  honesty: [],
  numbers: [],
  page: ["language"],
  tensor: ["name", "part"],
  picture: ["name", "part", "rows", "columns"],
  pictures: ["names", "rows", "columns"],
  heads: ["attention", "sentence", "dots"],
  section: ["name"],
  largest: ["name", "part", "count"],
  explain: ["name", "cell"],
  explained: ["numbers"],
} as const;

/** Of so many attentions a page asks for the heads in one request. */
export const HEADS_AT_ONCE = 12;

/** The largest picture of a head among all heads has so many dots a side: a page with room for it asks for that. */
export const HEAD_DOTS = 32;

/** The kinds of attention in the order in which a page asks for them: the stack, and what its tokens look at. */
export const ATTENTIONS = [
  ["encoder", "self"],
  ["decoder", "self"],
  ["decoder", "cross"],
] as const;

/** The tensor of the answers at hidden words. */
export const ANSWERS = "head.probabilities";

/** So many answers of a place are listed. */
export const ANSWERS_LISTED = 3;

/** A run that is not sent whole is asked for the answers at so many hidden words. */
export const PLACES_FETCHED = 2;
