/** The heads of a run that is not sent whole: the server measures them and draws them in dots of one byte. */

import { type Heads, type Measure, measuredFrom } from "../measures/heads.ts";
import { range } from "../numbers/arithmetic.ts";
import { metadataOf, readTensors, type Tensor } from "../numbers/safetensors.ts";
import { say } from "../words/say.ts";
import { HEADS_AT_ONCE } from "./addresses.ts";
import type { Query } from "./requests.ts";
import { Together } from "./together.ts";

interface Sent {
  readonly found: ReadonlyMap<string, Tensor>;
  readonly told: Readonly<Record<string, string>>;
}

export class ServedHeads {
  readonly #ask: (query: Query<"heads">) => Promise<ArrayBuffer>;
  /** Which are about to be asked for, by sentence and size. */
  readonly #asking = new Map<string, Together<Sent>>();

  constructor(ask: (query: Query<"heads">) => Promise<ArrayBuffer>) {
    this.#ask = ask;
  }

  async of(attention: string, sentence: number, dots: number): Promise<Heads> {
    const { found, told } = await this.#sent(attention, sentence, dots);
    const [thumbnails, statistics] = [found.get(`${attention}.thumbnails`), found.get(`${attention}.statistics`)];
    if (thumbnails === undefined || statistics === undefined)
      throw new Error(say`the server has sent no heads of ${attention}`);
    const order = (told["statistics"] ?? "").split(",");
    const shares = sharesOfDots(Number(told[`${attention}.lowest`]), Number(told[`${attention}.highest`]));
    const data = new Float32Array(thumbnails.data.length);
    for (let dot = 0; dot < data.length; dot++) data[dot] = shares[thumbnails.data[dot] ?? 0] ?? 0;
    return {
      thumbnails: { shape: thumbnails.shape, data },
      measured: range(statistics.shape[0] ?? 0, (head) => {
        const at = (measure: Measure): number => statistics.data[head * order.length + order.indexOf(measure)] ?? NaN;
        return measuredFrom(at);
      }),
    };
  }

  #sent(attention: string, sentence: number, dots: number): Promise<Sent> {
    const key = `${sentence} ${dots}`;
    const asking =
      this.#asking.get(key) ??
      new Together(HEADS_AT_ONCE, async (names) => {
        const bytes = await this.#ask({ attention: names.join(), sentence: String(sentence), dots: String(dots) });
        return { found: readTensors(bytes), told: metadataOf(bytes) };
      });
    this.#asking.set(key, asking);
    return asking.of(attention);
  }
}

/** The share that each dot of a logarithmic picture stands for; 0 stands for none. */
function sharesOfDots(lowest: number, highest: number): Float32Array {
  const ratio = Math.log(highest / lowest);
  return Float32Array.from({ length: 256 }, (_, dot) => (dot === 0 ? 0 : lowest * Math.exp((ratio * (dot - 1)) / 254)));
}
