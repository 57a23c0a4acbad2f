import { isUniqueViolation } from '@open-payments-server/database'

/** @returns false when what it would create already exists */
export async function unlessTaken(creating: PromiseLike<unknown>): Promise<boolean> {
  try {
    await creating
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}
