import type { FinishingBrowser } from '../domain/interactions.js'

/**
 * The cookie that binds an interaction to the browser that opened it first. After that browser has finished, it also
 * contains the code of the approval: it proves that the account holder consented in this browser, when the link is opened
 * again.
 */
export interface InteractionCookie {
  /** Reads the cookie from a `Cookie` header. */
  read(header: string | undefined): FinishingBrowser
  /** A `Set-Cookie` header that sets it in a browser. */
  write(interactionId: string, kept: { readonly cookie: string; readonly finishCode?: string }): string
}
