/** Marks that stand for nothing but themselves: the steps of a scale of shares, and dashes that tell lines apart. */

/** The shares that the scale of an attention picture names. */
export const SCALE = [0, 0.03, 0.1, 0.3, 1] as const;

/** A dash for each of eight heads in addition to its colour; 0 = a whole line. */
export const DASHES = [0, 7, 3, 14, 5, 10, 2, 18] as const;

/** Small shares are lifted: among many tokens most are below a hundredth. */
export function strengthOf(share: number): number {
  return Math.sqrt(Math.max(share, 0));
}
