import type { AnyTarget } from '../target.js'
import { AMOUNT_TARGETS } from './amounts.js'
import { BODY_TARGETS } from './bodies.js'
import { INTERVAL_TARGETS } from './intervals.js'
import { SIGNATURE_HEADER_TARGETS } from './signature-headers.js'
import { SIGNED_REQUEST_TARGETS } from './signed-requests.js'
import { TEXT_TARGETS } from './texts.js'
import { URL_TARGETS } from './urls.js'

/** Every function that reads what strangers send. */
export const FUNCTION_TARGETS: readonly AnyTarget[] = [
  ...SIGNATURE_HEADER_TARGETS,
  ...SIGNED_REQUEST_TARGETS,
  ...BODY_TARGETS,
  ...URL_TARGETS,
  ...INTERVAL_TARGETS,
  ...AMOUNT_TARGETS,
  ...TEXT_TARGETS
]
