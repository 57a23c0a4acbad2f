/** A word of the code, as databases and metrics write it: `limit_exceeded` for `limit-exceeded`. */
export type SnakeCase<Word extends string> = Word extends `${infer First}-${infer Rest}`
  ? `${First}_${SnakeCase<Rest>}`
  : Word

/** Writes a word of the code as databases and metrics do. */
export function snakeCase<Word extends string>(word: Word): SnakeCase<Word> {
  return word.replaceAll('-', '_') as SnakeCase<Word>
}

/** Reads a word that {@link snakeCase} wrote. */
export function kebabCase(written: string): string {
  return written.replaceAll('_', '-')
}
