import type { CommonReason } from './refusal.js'

/** An error in words, for whoever gets it: Markdown of one line. */
export interface ErrorWords {
  /** What went wrong. */
  readonly meaning: string
  /** What the caller can do about it. */
  readonly advice: string
}

/** The reasons for which any service refuses a request. */
export const COMMON_WORDS: Readonly<Record<CommonReason, ErrorWords>> = {
  'invalid-field': {
    meaning: 'A field of the request is missing or wrong. `details` names it, and what was expected of it.',
    advice: 'Correct the request.'
  },
  'unknown-format': {
    meaning: 'The body is in a format that is not read here.',
    advice: 'Send JSON, with `Content-Type: application/json`.'
  },
  'too-many-requests': {
    meaning: 'Over a [rate limit](limits.md).',
    advice: 'Repeat the request after the seconds in `Retry-After`.'
  }
}
