import type { status } from '@open-payments-server/grpc-transport'
import type { ErrorWords } from '@open-payments-server/value-types/refusals'

/** Name of a gRPC status. */
export type StatusName = keyof typeof status

/** What any call of any service may end with, whatever it is for: by the name of the status. */
export const STATUS_WORDS = {
  INVALID_ARGUMENT: {
    meaning:
      'A field is malformed, a page token or a cursor was not given here, or the call has no deadline.',
    advice: 'Correct the call.'
  },
  DEADLINE_EXCEEDED: {
    meaning: 'The deadline of the call passed. It is unknown whether it had its effect.',
    advice: 'Repeat the call, which is safe for every call.'
  },
  CANCELLED: {
    meaning: 'The caller gave up. It is unknown whether the call had its effect.',
    advice: 'Repeat the call, which is safe for every call.'
  },
  UNAUTHENTICATED: {
    meaning: "The operator's token does not count.",
    advice: 'Sign in again. See [operators](operations.md#operators).'
  },
  PERMISSION_DENIED: {
    meaning:
      "The client's certificate does not allow this call, or who operates does not have the role that it needs.",
    advice:
      'See `GRPC_OPERATOR_CLIENTS` and its neighbours, `OPERATOR_ISSUERS` and `OPERATOR_MACHINES` in [configuration](configuration.md).'
  },
  RESOURCE_EXHAUSTED: { meaning: 'The message is too large.', advice: 'See [limits](limits.md).' },
  UNIMPLEMENTED: {
    meaning: 'The service does not have this call.',
    advice: 'Use a client that is made from the `proto/` of the same version.'
  },
  UNAVAILABLE: {
    meaning: 'The service, or something that it needs, does not answer now, or it is stopping.',
    advice: 'Repeat the call, which is safe for every call.'
  },
  INTERNAL: {
    meaning: 'A defect of the service. Nothing more is said.',
    advice: 'The log of the service has the cause.'
  }
} as const satisfies Partial<Readonly<Record<StatusName, ErrorWords>>>
