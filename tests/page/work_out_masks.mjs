// Works out activity matrices with the built page: the wishes come from standard input, the answers go to standard output.
import { readFileSync } from "node:fs";
import { activityMatrix } from "../../glassformer/page/built/explorer.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ features, hidden, reading, nothing, ...more }) => {
  const tensor = { shape: [1, features.length, features[0].length], data: features.flat() };
  const found = activityMatrix({
    ...{ features: tensor, from: "features", sentence: 0, words: features.length },
    ...{ hidden: new Set(hidden), reading, nothing, flipped: new Set(), ...more },
  });
  const written = (rows) => rows.map((row) => row.map((value) => (Number.isFinite(value) ? value : "-inf")));
  const { alone, allowed, pairs, masked, weights } = found;
  return { alone, allowed, pairs: written(pairs), masked: written(masked), weights: written(weights) };
});
console.log(JSON.stringify(answers));
