import type { Mutation } from '../mutation.js'
import { ALLOWED_GRANT_GUARDS } from './allowed-grants.js'
import { APPROVAL_GUARDS } from './approvals.js'
import { AUDIT_GUARDS } from './audit.js'
import { EVENT_GUARDS } from './events.js'
import { FREEZE_GUARDS } from './freezes.js'
import { GRANT_GUARDS } from './grants.js'
import { GRPC_GUARDS } from './grpc.js'
import { INPUT_GUARDS } from './inputs.js'
import { INTERACTION_GUARDS } from './interactions.js'
import { INTERLEDGER_GUARDS } from './interledger.js'
import { KEY_GUARDS } from './keys.js'
import { LEDGER_GUARDS } from './ledger.js'
import { LIMIT_GUARDS } from './limits.js'
import { OPERATOR_GUARDS } from './operators.js'
import { OTHER_PROVIDER_GUARDS } from './other-providers.js'
import { PAYMENT_GUARDS } from './payments.js'
import { PEER_GUARDS } from './peers.js'
import { REFUND_GUARDS } from './refunds.js'
import { RESERVATION_GUARDS } from './reservations.js'
import { SCHEMA_GUARDS } from './schemas.js'
import { SECRET_GUARDS } from './secrets.js'
import { SENDING_GUARDS } from './sending.js'
import { WAITING_GUARDS } from './waiting.js'
import { WEBHOOK_GUARDS } from './webhooks.js'

/** Every guard that a test must fail for, by what it guards. */
export const GUARDS: readonly { readonly title: string; readonly mutations: readonly Mutation[] }[] = [
  { title: 'Spending under a grant', mutations: RESERVATION_GUARDS },
  { title: 'Grants and tokens', mutations: GRANT_GUARDS },
  { title: 'Keys, nonces and lookups', mutations: KEY_GUARDS },
  { title: 'Consent and retention', mutations: INTERACTION_GUARDS },
  { title: 'Callers of gRPC', mutations: GRPC_GUARDS },
  { title: 'What operators do', mutations: OPERATOR_GUARDS },
  { title: 'Creating payments and reporting outcomes', mutations: PAYMENT_GUARDS },
  { title: 'Freezes', mutations: FREEZE_GUARDS },
  { title: 'What account holders do with their grants', mutations: ALLOWED_GRANT_GUARDS },
  { title: 'Money', mutations: LEDGER_GUARDS },
  { title: 'Approval by the provider', mutations: APPROVAL_GUARDS },
  { title: 'Refunds', mutations: REFUND_GUARDS },
  { title: 'Payments over Interledger', mutations: INTERLEDGER_GUARDS },
  { title: 'Payments of peers', mutations: PEER_GUARDS },
  { title: 'Payments to other providers', mutations: SENDING_GUARDS },
  { title: 'Other providers', mutations: OTHER_PROVIDER_GUARDS },
  { title: 'What the audit finds', mutations: AUDIT_GUARDS },
  { title: 'Untrusted input', mutations: INPUT_GUARDS },
  { title: 'Events', mutations: EVENT_GUARDS },
  { title: 'Waiting clients', mutations: WAITING_GUARDS },
  { title: 'Webhooks', mutations: WEBHOOK_GUARDS },
  { title: 'Resource limits', mutations: LIMIT_GUARDS },
  { title: 'Information in logs and responses', mutations: SECRET_GUARDS },
  { title: 'Database constraints', mutations: SCHEMA_GUARDS }
]
