import { isRpcError, status } from '@open-payments-server/grpc-transport'
import { CommandError } from './command-error.js'

/**
 * Moves money. If it is unknown whether it moved, the operator must know how to repeat the call without moving it twice.
 *
 * @param option what makes the repeated command the same, such as `--id` with its value
 * @throws CommandError naming it
 */
export async function namingRepetition<Result>(option: string, move: () => Promise<Result>): Promise<Result> {
  try {
    return await move()
  } catch (error) {
    if (!isRpcError(error, status.UNAVAILABLE) && !isRpcError(error, status.DEADLINE_EXCEEDED)) throw error
    throw new CommandError(
      `it is not known whether money moved: ${error.message}\nRun the same command with ${option}: it has effect only once`
    )
  }
}
