import { OutgoingRequestError, parseHttpUrl, URL_LENGTH_MAX } from '@open-payments-server/http-client'
import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'

/** An absolute http or https URL without credentials and fragment, at most 2,048 characters. */
export const httpUrl = measuredText(z.string().max(URL_LENGTH_MAX).refine(isHttpUrl))

function isHttpUrl(text: string): boolean {
  try {
    parseHttpUrl(text)
    return true
  } catch (error) {
    if (error instanceof OutgoingRequestError) return false
    throw error
  }
}

/** The first member that does not match its schema, such as `methods.0.type`: only names of the schema, and indexes. */
export function fieldOf(error: z.ZodError): string {
  const [issue] = error.issues
  return issue === undefined || issue.path.length === 0 ? 'the document' : issue.path.join('.')
}
