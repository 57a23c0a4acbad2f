/** Only where a run of slashes begins: tried at each slash, thousands of them in the midst of a URL would take their square. */
const FINAL_SLASHES = /(?<!\/)\/+$/

/** A URL without the slashes that it ends with: with and without them, it names the same. */
export function withoutFinalSlashes(url: string): string {
  return url.replace(FINAL_SLASHES, '')
}
