import type { ErrorWords } from '@open-payments-server/value-types/refusals'
import type { CallRefusedBecause } from '../../domain/call-refused.js'

/** Every reason for which an operator's call is refused. */
export const CALL_WORDS: Readonly<Record<CallRefusedBecause, ErrorWords>> = {
  'not-found': { meaning: 'What the call names does not exist.', advice: 'Check the name.' },
  'already-exists': {
    meaning: 'What the call would create exists with different content.',
    advice: 'Use another name, or keep what exists.'
  },
  invalid: { meaning: 'A field is malformed.', advice: 'Correct the field that the error names.' },
  'not-possible': {
    meaning: 'The current state does not allow it. The message says why.',
    advice: 'Change the state first.'
  }
}
