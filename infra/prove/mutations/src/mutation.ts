/** A guard, how it is broken, and the test that must then fail. */
export interface Mutation {
  /** What the guard ensures, as the end of the sentence "It is guarded that …". */
  readonly guard: string
  /** Path of its file, from the root of the repository. */
  readonly file: string
  /** Text of the guard: occurs in the file exactly once. */
  readonly text: string
  /** Its replacement when it is broken. The result must run. */
  readonly broken: string
  readonly test: TestReference
}

/** A test. */
export interface TestReference {
  /** Path of its file, from the root of the repository. */
  readonly file: string
  /** Its title, as jest prints it. */
  readonly title: string
}

/**
 * Breaks a guard in the content of its file.
 *
 * @throws Error when the guard does not occur exactly once: then the list of guards is out of step with the code
 */
export function breakGuard(content: string, { file, guard, text, broken }: Mutation): string {
  const parts = content.split(text)
  if (parts.length !== 2) {
    const found = `occurs ${String(parts.length - 1)} times in ${file}, and must occur once`
    throw new Error(`the text of the guard "${guard}" ${found}:\n${text}`)
  }
  return parts.join(broken)
}
