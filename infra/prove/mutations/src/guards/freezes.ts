import type { Mutation, TestReference } from '../mutation.js'

const ADDRESSES = 'services/resource-server/src/modules/wallet-addresses/freeze.ts'
const PERSIST = 'services/resource-server/src/features/create-outgoing-payment/persist.ts'
const ROOM = 'services/resource-server/src/modules/incoming-payments/room.ts'
const RECEIVERS = 'services/resource-server/src/modules/incoming-payments/receivers.ts'
const INCOMING = 'services/resource-server/src/modules/incoming-payments/create.ts'
const QUOTES = 'services/resource-server/src/modules/quotes/create.ts'
const CREATE_INCOMING =
  'services/resource-server/src/features/create-incoming-payment/create-incoming-payment.ts'
const PROCESS = 'services/resource-server/src/modules/outgoing-payments/process.ts'
const SWEEP = 'services/resource-server/src/features/sweep-orphans/sweep-orphans.ts'
const AUTHORIZER = 'services/resource-server/src/features/authorize-request/request-authorizer.ts'
const RECORDS = 'services/resource-server/src/features/authorize-request/token-records.ts'
const BEGIN = 'services/auth-server/src/modules/grants/begin.ts'
const CHANGE = 'services/auth-server/src/modules/grants/change.ts'
const CONTINUATION = 'services/auth-server/src/domain/continuation.ts'
const ROTATE = 'services/auth-server/src/modules/tokens/rotate.ts'
const RESERVE = 'services/auth-server/src/modules/limits/reserve.ts'
const REFUSE = 'services/auth-server/src/modules/limits/refuse.ts'

const freezing = (title: string): TestReference => ({
  file: 'services/resource-server/test/freeze.test.ts',
  title
})
const freezingClients = (title: string): TestReference => ({
  file: 'services/auth-server/test/freeze-clients.test.ts',
  title
})

const exchanging = (title: string): TestReference => ({
  file: 'services/resource-server/test/payments-between-currencies.test.ts',
  title
})

/** Nothing new happens to what is frozen, and nobody is told more about it than they need. */
export const FREEZE_GUARDS: readonly Mutation[] = [
  {
    guard: 'nothing is paid from a frozen account or wallet address',
    file: PERSIST,
    text: 'select asked.*, not asked.payer_frozen and ${payable} as payable',
    broken: 'select asked.*, ${payable} as payable',
    test: freezing('makes no payment, and leaves nothing reserved')
  },
  {
    guard: 'a payment waits for the freeze of its account that is being committed',
    file: PERSIST,
    text: '(select proof from unfrozen) is null',
    broken: 'true',
    test: freezing('a payment waits for a freeze of the account that is being committed')
  },
  {
    guard: 'a payment waits for the freeze of its wallet address that is being committed',
    file: ADDRESSES,
    text: 'for no key update of a for share of w',
    broken: 'for no key update of a',
    test: freezing('a payment waits for a freeze of the wallet address that is being committed')
  },
  {
    guard: 'nothing new is paid to a frozen account or wallet address',
    file: ROOM,
    text: '\n       and not ${isFrozenAddress(Prisma.sql`i.wallet_address_id`)})`',
    broken: ')`',
    test: freezing('is paid nothing, and its payers only learn that it cannot be paid')
  },
  {
    guard: 'payers are not told of a freeze',
    file: RECEIVERS,
    text: ' and not ${isFrozenAddress(Prisma.sql`p.wallet_address_id`)}',
    broken: '',
    test: freezing('is paid nothing, and its payers only learn that it cannot be paid')
  },
  {
    guard: 'no incoming payment is created for what is frozen',
    file: INCOMING,
    text: ' and not ${isFrozenAddress(Prisma.sql`wanted.wallet_address_id`)}',
    broken: '',
    test: freezing('gets no quote and no incoming payment, and strangers are not told why')
  },
  {
    guard: 'no quote is created for what is frozen',
    file: QUOTES,
    text: 'where not ${isFrozenAddress(Prisma.sql`wanted.wallet_address_id`)}',
    broken: 'where true',
    test: freezing('gets no quote and no incoming payment, and strangers are not told why')
  },
  {
    guard: 'a stranger is not told that an account is frozen',
    file: CREATE_INCOMING,
    text: 'throw accountFrozen(authorized.consentedWalletAddress === walletAddress.url)',
    broken: 'throw accountFrozen(true)',
    test: freezing('gets no quote and no incoming payment, and strangers are not told why')
  },
  {
    guard: 'a freeze holds no payment here beyond the end of its exchange rate',
    file: PROCESS,
    text: ' and coalesce(p.begin_until > ${NOW}, true)',
    broken: '',
    test: exchanging('is held by a freeze until its rate ends, and no longer')
  },
  {
    guard: 'a pending payment that a freeze holds is not processed',
    file: PROCESS,
    text: 'and not (freezing.holds and ',
    broken: 'and not (false and ',
    test: freezing('holds its pending payment, with the money, until it is unfrozen')
  },
  {
    guard: 'a pending payment to what is frozen is held too',
    file: PROCESS,
    text: ' or ${isFrozenReceiver(incomingPaymentId)})',
    broken: ')',
    test: freezing('holds the pending payment to it, and others are paid meanwhile')
  },
  {
    guard: 'a pending payment of a frozen client is held too',
    file: PROCESS,
    text: ' or ${isFrozenClient(Prisma.sql`p.client`)}',
    broken: '',
    test: freezing('has its pending payments held until its freeze ends')
  },
  {
    guard: 'a payment on hold does not count as one that should have ended',
    file: SWEEP,
    text: '[awaiting, frozen, elsewhere]',
    broken: '[awaiting, elsewhere]',
    test: freezing('keeps the reservation of a payment on hold, which counts neither as orphaned nor as old')
  },
  {
    guard: 'a frozen client changes nothing with its tokens',
    file: AUTHORIZER,
    text: 'if (verified.record.clientFrozen) throw clientFrozen()',
    broken: '',
    test: freezing('may only read, from the moment on at which the stream tells of it')
  },
  {
    guard: 'a cached answer is void as soon as the client is frozen',
    file: RECORDS,
    text: 'record.client === client',
    broken: 'record.client === ""',
    test: freezing('may only read, from the moment on at which the stream tells of it')
  },
  {
    guard: 'a frozen client gets no grant',
    file: BEGIN,
    text: '\n    where not ${isFrozenClient(Prisma.sql`coalesce(new."clientWalletAddress", \'jwk:\' || new."clientJwkThumbprint")`)}',
    broken: '',
    test: freezingClients('gets no grant, and nothing is stored for it')
  },
  {
    guard: 'a frozen client is told of it before anything else about its grant',
    file: CONTINUATION,
    text: "if (grant.clientFrozen) return 'client-frozen'",
    broken: '',
    test: freezingClients('cannot continue a grant; once it is unfrozen it can')
  },
  {
    guard: 'no grant is issued to a client that was frozen since its request was authorized',
    file: CHANGE,
    text: "and state = 'approved' and not ${IS_HOLDER_FROZEN}",
    broken: "and state = 'approved'",
    test: freezingClients('is issued no grant, also where its request was authorized before')
  },
  {
    guard: 'a frozen client rotates no token',
    file: ROTATE,
    text: '\n       and not ${IS_HOLDER_FROZEN}',
    broken: '',
    test: freezingClients('cannot rotate its token, which stays as it was')
  },
  {
    guard: 'nothing is reserved for a frozen client',
    file: RESERVE,
    text: '\n       and not living.client_frozen',
    broken: '',
    test: freezingClients('reserves nothing, and the same payment is reserved once it is unfrozen')
  },
  {
    guard: 'the refusal of a frozen client is not recorded, because its freeze may end',
    file: REFUSE,
    text: 'where not living.client_frozen and not living.grant_paused',
    broken: 'where not living.grant_paused',
    test: freezingClients('reserves nothing, and the same payment is reserved once it is unfrozen')
  },
  {
    guard: 'a frozen client makes no payment of what it had reserved before',
    file: REFUSE,
    text: "if (row?.client_frozen === true) return 'client-frozen'",
    broken: '',
    test: freezingClients('reserves nothing, and the same payment is reserved once it is unfrozen')
  }
]
