/** A question that is being worked out, or waits for its turn. */
interface Asked<Answer> {
  readonly answer: Promise<Answer>
  /** Number of those who wait for the answer. */
  waiting: number
}

/**
 * Lets long work be done once at a time. Whoever asks what is just being worked out gets the same answer. Another question waits for its turn,
 * and is dropped if nobody waits for it any more.
 *
 * @param work answers a question; may only depend on it
 * @returns asks a question; the signal is aborted when whoever asks no longer waits
 */
export function oneAtATime<Question extends string | number, Answer>(
  work: (question: Question) => Promise<Answer>
): (question: Question, signal: AbortSignal) => Promise<Answer> {
  const asked = new Map<Question, Asked<Answer>>()
  let before: Promise<unknown> = Promise.resolve()

  const begin = (question: Question, signal: AbortSignal): Asked<Answer> => {
    const answer = before
      .then(() => {
        if (begun.waiting === 0) signal.throwIfAborted()
        return work(question)
      })
      .finally(() => asked.delete(question))
    before = answer.catch(() => undefined)
    const begun: Asked<Answer> = { answer, waiting: 0 }
    asked.set(question, begun)
    return begun
  }

  return async (question, signal) => {
    signal.throwIfAborted()
    const found = asked.get(question) ?? begin(question, signal)
    found.waiting += 1
    signal.addEventListener('abort', () => (found.waiting -= 1), { once: true })
    return found.answer
  }
}
