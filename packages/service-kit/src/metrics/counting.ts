/**
 * The same call, with its results counted. Errors are not counted, and results are unchanged.
 *
 * @param count is given each answer
 */
export function counting<Asked extends readonly unknown[], Answer>(
  call: (...asked: Asked) => Promise<Answer>,
  count: (answer: Answer) => void
): (...asked: Asked) => Promise<Answer> {
  return async (...asked) => {
    const answer = await call(...asked)
    count(answer)
    return answer
  }
}
