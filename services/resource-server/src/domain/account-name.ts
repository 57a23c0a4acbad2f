/** Allowed names of an account. */
const ACCOUNT_NAME = /^[a-z0-9._-]{1,64}$/

/** Whether an account may have a name. */
export function isAccountName(text: string): boolean {
  return ACCOUNT_NAME.test(text)
}
