/** A choice above a picture; which one is made stands in the address, `at`. */
export interface Ask {
  readonly label: string;
  readonly options: readonly string[];
  readonly usual: number;
}
