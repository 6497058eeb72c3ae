// Steps a second of the trainings of the page, by processor time: node learn_speed.mjs PAGE.html [SECONDS]. Nothing is drawn.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Learner, setUp } from "../../glassformer/page/built/explorer.js";

const [file, seconds = "2"] = process.argv.slice(2);
const [, packed] = /id="record">([^<]*)</.exec(readFileSync(file, "utf8"));
const record = JSON.parse(gunzipSync(Buffer.from(packed, "base64")));
const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map((day) => [...day]);
const choices = {
  slides: [["She", "likes", "the", "summer", "better"], ["He", "loves", "to", "cook", "healthy"]],
  letters: days,
  "letters-norms": days,
  "letters-large": days,
};
for (const [exercise, sentences] of Object.entries(choices)) {
  const before = process.cpuUsage().user;
  const learner = new Learner(setUp(record, { exercise, sentences, hidden: [[1, 2], [2]] }), 0, 0.005);
  const begun = process.cpuUsage().user;
  // The first steps are not compiled yet.
  const warm = learner.weights.length > 50_000 ? 1 : 200;
  learner.advance(warm);
  const [from, first] = [process.cpuUsage().user, learner.step];
  while (process.cpuUsage().user - from < 1e6 * Number(seconds)) learner.advance(1);
  const took = (process.cpuUsage().user - from) / 1e6;
  const rate = (learner.step - first) / took;
  console.log(
    `${exercise}: ${learner.weights.length} weights, ${rate.toPrecision(3)} steps a second, set up in ${(begun - before) / 1000} ms`,
  );
}
