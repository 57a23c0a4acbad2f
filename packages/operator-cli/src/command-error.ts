/** A command that cannot be carried out as it was given. The message is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError'

  /** @param field option or argument at fault */
  constructor(
    message: string,
    readonly field?: string
  ) {
    super(message)
  }
}
