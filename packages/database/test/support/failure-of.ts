/**
 * What an attempt fails with.
 *
 * @throws Error when it does not fail
 */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => error
  )
}
