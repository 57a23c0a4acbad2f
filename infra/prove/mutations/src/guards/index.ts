import type { Mutation } from '../mutation.js'
import { GRANT_GUARDS } from './grants.js'
import { GRPC_GUARDS } from './grpc.js'
import { INPUT_GUARDS } from './inputs.js'
import { INTERACTION_GUARDS } from './interactions.js'
import { KEY_GUARDS } from './keys.js'
import { LEDGER_GUARDS } from './ledger.js'
import { LIMIT_GUARDS } from './limits.js'
import { PAYMENT_GUARDS } from './payments.js'
import { RESERVATION_GUARDS } from './reservations.js'
import { SCHEMA_GUARDS } from './schemas.js'
import { SECRET_GUARDS } from './secrets.js'

/** Every guard that a test must fail for, by what it guards. */
export const GUARDS: readonly { readonly title: string; readonly mutations: readonly Mutation[] }[] = [
  { title: 'What a grant has spent', mutations: RESERVATION_GUARDS },
  { title: 'Grants and tokens', mutations: GRANT_GUARDS },
  { title: 'Keys, nonces and strangers', mutations: KEY_GUARDS },
  { title: 'Consent, and what is kept of it', mutations: INTERACTION_GUARDS },
  { title: 'Who is let in over gRPC', mutations: GRPC_GUARDS },
  { title: 'Creating payments, and telling how they ended', mutations: PAYMENT_GUARDS },
  { title: 'Money', mutations: LEDGER_GUARDS },
  { title: 'What strangers send', mutations: INPUT_GUARDS },
  { title: 'What anybody may cost', mutations: LIMIT_GUARDS },
  { title: 'What is told, in logs and in answers', mutations: SECRET_GUARDS },
  { title: 'What the schemas refuse, whatever the code does', mutations: SCHEMA_GUARDS }
]
