/** A command that cannot be executed as given. The message is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError'

  /** @param field the wrong option or argument */
  constructor(
    message: string,
    readonly field?: string
  ) {
    super(message)
  }
}
