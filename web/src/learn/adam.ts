/**
 * Adam (Kingma and Ba 2015) as `glassformer train slides` runs it: AdamW without decay, the gradient cut to a length of 1.
 */

/** The settings of `glassformer/training/settings.py` that the recipe of the slides leaves as they are. */
export const [BETA1, BETA2, EPSILON, CLIP] = [0.9, 0.999, 1e-8, 1];

/** The rate of the recipe, `glassformer/bundled/recipes/slides.toml`. */
export const RATE = 0.005;

/** Weights with the two means that Adam keeps of each gradient, and how many steps made them. */
export interface Moment {
  readonly step: number;
  readonly weights: Float64Array;
  /** The running mean of the gradient, and that of its square. */
  readonly mean: Float64Array;
  readonly square: Float64Array;
}

export function copied({ step, weights, mean, square }: Moment): Moment {
  return { step, weights: weights.slice(), mean: mean.slice(), square: square.slice() };
}

/** The length of the gradient, and by how much it is multiplied so that it is not longer than `CLIP`. */
export function cut(gradient: Float64Array): { readonly length: number; readonly by: number } {
  let squares = 0;
  for (let at = 0; at < gradient.length; at++) squares += (gradient[at] as number) ** 2;
  const length = Math.sqrt(squares);
  // 1e-6 as `torch.nn.utils.clip_grad_norm_` has it.
  return { length, by: Math.min(1, CLIP / (length + 1e-6)) };
}

/** One step: changes the weights and both means in their place. `step` counts from 1, `by` is that of `cut`. */
export function adam(now: Omit<Moment, "step">, gradient: Float64Array, by: number, step: number, rate: number): void {
  const { weights, mean, square } = now;
  const along = rate / (1 - BETA1 ** step);
  const root = Math.sqrt(1 - BETA2 ** step);
  for (let at = 0; at < weights.length; at++) {
    const slope = (gradient[at] as number) * by;
    const first = (mean[at] as number) + (slope - (mean[at] as number)) * (1 - BETA1);
    const second = BETA2 * (square[at] as number) + (1 - BETA2) * slope * slope;
    mean[at] = first;
    square[at] = second;
    weights[at] = (weights[at] as number) - (along * first) / (Math.sqrt(second) / root + EPSILON);
  }
}
