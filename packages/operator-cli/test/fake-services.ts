import {
  createHandlers,
  RpcError,
  startGrpcServer,
  status,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { auth, fileDescriptors, wallet } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'

/** What peers owed at first, and are owed. */
export const PEER_OWED_FIRST = '-50'
export const PEER_IS_OWED = '99999999999999999999'

/** Both services' operator calls, in memory, over real gRPC. */
export interface FakeServices {
  /** `host:port` of both. */
  readonly target: string
  readonly accounts: Map<string, { asset: wallet.Asset; balance: bigint }>
  readonly keys: Map<string, string>
  /** Freezes by what is frozen. */
  readonly freezes: Map<string, wallet.Freeze>
  /** Holders by their accounts. */
  readonly holders: Map<string, wallet.Holder>
  readonly grants: auth.Grant[]
  readonly payments: wallet.Payment[]
  /** What lists of payments were asked for. */
  readonly paymentFilters: wallet.ListPaymentsRequest[]
  /** The only outgoing payment that can be shown, until it is decided about. */
  outgoingPayment: wallet.OutgoingPayment | undefined
  readonly approvalRules: wallet.ApprovalRule[]
  readonly refunds: wallet.Refund[]
  readonly peers: wallet.Peer[]
  /** What the last call about each kind of change of a peer was asked. */
  readonly peerRequests: {
    create?: wallet.CreatePeerRequest
    update?: wallet.UpdatePeerRequest
    rotate?: wallet.RotatePeerTokenRequest
  }
  /** Settlements by their keys. */
  readonly settlements: Map<string, wallet.SettlePeerRequest>
  readonly unknownPackets: wallet.UnknownPacket[]
  readonly decisions: wallet.DecidePacketRequest[]
  /** Entries of any peer by their dates. A day without any is quiet. */
  readonly peerEntries: Map<string, wallet.PeerEntry[]>
  /** The first day that is not over. */
  today: string
  /** What is lost, until it is given up. */
  lostPayments: wallet.LostPayment[]
  /** How many ids each call was to give up. */
  readonly givenUpTogether: number[]
  /** The reason of each call that accepted payments. */
  readonly acceptedBecause: string[]
  /** What the auth server is told anew of. */
  restored: wallet.RestoreReservationsResponse
  /** What an audit answers. */
  checks: wallet.AuditCheck[]
  /** What the last audit was asked. */
  auditRequest: wallet.AuditRequest | undefined
  /** Ids of deposits and withdrawals that arrived, repetitions included. */
  readonly movementIds: string[]
  /** Says UNAVAILABLE to this many of the next deposits, after having booked them. */
  lostAnswers: number
  stop(): Promise<void>
}

const now = new Date('2026-11-21T10:00:00Z')

/**
 * Starts the fakes. Pages hold two items at most, so that every list has several.
 *
 * @param options.tls makes them take certificates, of the clients that are named
 */
export async function startFakeServices(
  options: { tls?: WatchedTlsFiles; clientNames?: readonly string[] } = {}
): Promise<FakeServices> {
  const logger = createLogger({ service: 'fake', level: 'silent' })
  const state: Omit<FakeServices, 'target' | 'stop'> = {
    accounts: new Map(),
    keys: new Map(),
    freezes: new Map(),
    holders: new Map(),
    grants: [],
    payments: [],
    paymentFilters: [],
    outgoingPayment: undefined,
    approvalRules: [],
    refunds: [],
    peers: [],
    peerRequests: {},
    settlements: new Map(),
    unknownPackets: [],
    decisions: [],
    peerEntries: new Map(),
    today: '2026-11-27',
    lostPayments: [],
    restored: { restoredCount: 0n, outcomeCount: 0n, refusedCount: 0n, refused: [] },
    givenUpTogether: [],
    acceptedBecause: [],
    checks: [],
    auditRequest: undefined,
    movementIds: [],
    lostAnswers: 0
  }
  const handlers = createHandlers(logger)
  const clients = { everyMethod: options.clientNames ?? [] }
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: options.tls,
    services: [
      {
        definition: wallet.WalletOperatorServiceService,
        implementation: walletService(state, handlers),
        clients
      },
      {
        definition: wallet.PeerServiceService,
        implementation: peerService(state, handlers),
        clients
      },
      { definition: auth.GrantOperatorServiceService, implementation: grantService(state, handlers), clients }
    ],
    reflection: false,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: 60_000,
    messageBytesMax: 1_000_000
  })
  return Object.assign(state, { target: server.address, stop: () => server.stop(1_000) })
}

type State = Omit<FakeServices, 'target' | 'stop'>
type Handlers = ReturnType<typeof createHandlers>

function pageOf<Item>(
  items: readonly Item[],
  request: { pageSize: number; pageToken: string }
): [Item[], string] {
  const start = Number(request.pageToken)
  const end = start + Math.min(request.pageSize, 2)
  return [items.slice(start, end), end < items.length ? String(end) : '']
}

function walletService(state: State, { unary }: Handlers): wallet.WalletOperatorServiceServer {
  const assets: wallet.Asset[] = []
  const walletAddresses: wallet.WalletAddress[] = []
  const moved = new Set<string>()
  const changeWalletAddress = (url: string, freeze: wallet.Freeze | undefined): wallet.WalletAddress => {
    const found = walletAddresses.find((walletAddress) => walletAddress.url === url)
    if (found === undefined)
      throw new RpcError({
        code: status.NOT_FOUND,
        message: 'there is no such wallet address here',
        field: 'wallet_address'
      })
    return Object.assign(found, { freeze })
  }
  const accountOf = (name: string): wallet.Account => {
    const account = state.accounts.get(name)
    if (account === undefined)
      throw new RpcError({ code: status.NOT_FOUND, message: 'no such account', field: 'account_name' })
    const value = account.balance.toString()
    return {
      name,
      asset: account.asset,
      balanceValue: value,
      heldValue: '0',
      availableValue: value,
      createTime: now,
      freeze: state.freezes.get(name),
      holder: state.holders.get(name)
    }
  }
  const move = (id: string, name: string, value: bigint): wallet.Account => {
    accountOf(name)
    state.movementIds.push(id)
    const account = state.accounts.get(name)
    if (account !== undefined && !moved.has(id)) {
      if (account.balance + value < 0n) {
        throw new RpcError({
          code: status.FAILED_PRECONDITION,
          message: 'the balance is short',
          field: 'value'
        })
      }
      account.balance += value
    }
    moved.add(id)
    if (state.lostAnswers > 0) {
      state.lostAnswers -= 1
      throw new RpcError({ code: status.UNAVAILABLE, message: 'gone' })
    }
    return accountOf(name)
  }
  return {
    createAsset: unary(async ({ asset }) => {
      if (asset === undefined)
        throw new RpcError({ code: status.INVALID_ARGUMENT, message: 'no asset', field: 'asset' })
      if (assets.some(({ code, scale }) => code === asset.code && scale === asset.scale)) {
        throw new RpcError({ code: status.ALREADY_EXISTS, message: 'the asset exists', field: 'asset' })
      }
      assets.push(asset)
      return { asset }
    }),
    listAssets: unary(async () => ({ assets })),
    createAccount: unary(async ({ name, asset }) => {
      if (asset === undefined)
        throw new RpcError({ code: status.INVALID_ARGUMENT, message: 'no asset', field: 'asset' })
      state.accounts.set(name, { asset, balance: 0n })
      return { account: accountOf(name) }
    }),
    listAccounts: unary(async (request) => {
      const names = [...state.accounts.keys()].filter((name) => request.name === '' || name === request.name)
      const [page, nextPageToken] = pageOf(names.sort(), request)
      return { accounts: page.map(accountOf), nextPageToken }
    }),
    setAccountHolder: unary(async ({ accountName, holder }) => {
      if (holder === undefined) state.holders.delete(accountName)
      else state.holders.set(accountName, holder)
      return { account: accountOf(accountName) }
    }),
    freezeAccount: unary(async ({ accountName, reason }) => {
      const account = accountOf(accountName)
      const freeze = account.freeze ?? { freezeTime: now, frozenBy: 'operator', reason }
      state.freezes.set(accountName, freeze)
      return { account: { ...account, freeze } }
    }),
    unfreezeAccount: unary(async ({ accountName }) => {
      state.freezes.delete(accountName)
      return { account: accountOf(accountName) }
    }),
    freezeWalletAddress: unary(async ({ walletAddress: url, reason }) => {
      const freeze = { freezeTime: now, frozenBy: '', reason }
      return { walletAddress: changeWalletAddress(url, freeze) }
    }),
    unfreezeWalletAddress: unary(async ({ walletAddress: url }) => ({
      walletAddress: changeWalletAddress(url, undefined)
    })),
    createWalletAddress: unary(async ({ path, publicName, accountName }) => {
      const { asset } = accountOf(accountName)
      const walletAddress = {
        url: `http://localhost:4001${path}`,
        publicName,
        accountName,
        asset,
        keyIds: [],
        freeze: undefined
      }
      walletAddresses.push(walletAddress)
      return { walletAddress }
    }),
    listWalletAddresses: unary(async (request) => {
      const [page, nextPageToken] = pageOf(walletAddresses, request)
      return { walletAddresses: page, nextPageToken }
    }),
    deposit: unary(async ({ depositId, accountName, value }) => ({
      account: move(depositId, accountName, BigInt(value))
    })),
    withdraw: unary(async ({ withdrawalId, accountName, value }) => ({
      account: move(withdrawalId, accountName, -BigInt(value))
    })),
    addClientKey: unary(async ({ walletAddress, kid, x }) => {
      state.keys.set(`${walletAddress}#${kid}`, x)
      return {}
    }),
    revokeClientKey: unary(async ({ walletAddress, kid }) => {
      if (!state.keys.delete(`${walletAddress}#${kid}`)) {
        throw new RpcError({ code: status.NOT_FOUND, message: 'no such key', field: 'kid' })
      }
      return {}
    }),
    listPayments: unary(async (request) => {
      state.paymentFilters.push(request)
      const found = state.payments.filter(
        ({ kind, walletAddress }) =>
          kind === request.kind && (request.walletAddress === '' || walletAddress === request.walletAddress)
      )
      const [payments, nextPageToken] = pageOf(found, request)
      return { payments, nextPageToken }
    }),
    countPayments: unary(async ({ hours }) => ({
      hours: Array.from({ length: hours }, () => ({
        ...{ startTime: now, createdCount: 3n, completedCount: 2n, failedCount: 1n }
      }))
    })),
    getPaymentLife: unary(async ({ paymentId }) =>
      wallet.GetPaymentLifeResponse.fromPartial({
        payment: { paymentId, state: 'completed', walletAddress: 'http://localhost:4001/alice' },
        url: `http://localhost:4001/outgoing-payments/${paymentId}`,
        outgoing: { outcome: 'settle', outcomeTime: new Date(0) },
        entries: [ENTRY]
      })
    ),
    listAccountEntries: unary(async () => ({ entries: [ENTRY], nextPageToken: '' })),
    listAwaitingPayments: unary(async () => ({ payments: [], nextPageToken: '' })),
    getOutgoingPayment: unary(async ({ outgoingPayment }) => ({
      payment: outgoingPaymentOf(state, outgoingPayment)
    })),
    approvePayment: unary(async ({ outgoingPayment, reason }) =>
      decide(state, outgoingPayment, { decision: 'approved', reason })
    ),
    declinePayment: unary(async ({ outgoingPayment, reason }) =>
      decide(state, outgoingPayment, { decision: 'declined', reason })
    ),
    createApprovalRule: unary(async (conditions) => {
      if (conditions.aboveValue === '-1')
        throw new RpcError({
          code: status.INVALID_ARGUMENT,
          message: 'above_value must be an amount',
          field: 'above_value'
        })
      const rule = { ...conditions, id: `rule-${String(state.approvalRules.length)}`, createTime: now }
      state.approvalRules.push(rule)
      return { rule }
    }),
    listApprovalRules: unary(async () => ({ rules: state.approvalRules })),
    deleteApprovalRule: unary(async ({ ruleId }) => {
      const index = state.approvalRules.findIndex(({ id }) => id === ruleId)
      if (index === -1)
        throw new RpcError({ code: status.NOT_FOUND, message: 'there is no such rule', field: 'rule_id' })
      state.approvalRules.splice(index, 1)
      return {}
    }),
    createRefund: unary(async ({ refundOf, value, idempotencyKey, returnsFee }) => {
      const asset = { code: 'USD', scale: 2 }
      const refund = state.refunds.find(({ refundId }) => refundId === idempotencyKey) ?? {
        refundId: idempotencyKey,
        refundOf,
        payment: '',
        state: 'completed',
        value,
        settledValue: value,
        asset,
        returnedValue: value,
        returnedFeeValue: returnsFee ? '1' : '0',
        returnedAsset: asset,
        createTime: now,
        updateTime: now,
        createdBy: returnsFee ? 'spiffe://example/desk' : ''
      }
      if (value === '0') {
        const message = 'value must be above 0'
        throw new RpcError({ code: status.INVALID_ARGUMENT, message, field: 'value' })
      }
      if (!state.refunds.includes(refund)) state.refunds.push(refund)
      if (state.lostAnswers > 0) {
        state.lostAnswers -= 1
        throw new RpcError({ code: status.UNAVAILABLE, message: 'gone' })
      }
      return { refund }
    }),
    listRefunds: unary(async (request) => {
      const found = state.refunds.filter(
        ({ refundOf }) => request.refundOf === '' || refundOf === request.refundOf
      )
      const [refunds, nextPageToken] = pageOf(found, request)
      return { refunds, nextPageToken }
    }),
    listLostPayments: unary(async (request) => {
      const [payments, nextPageToken] = pageOf(state.lostPayments, request)
      return { payments, nextPageToken }
    }),
    giveUpLostPayments: unary(async ({ paymentIds }) => {
      state.givenUpTogether.push(paymentIds.length)
      const lost = state.lostPayments.filter(({ paymentId }) => paymentIds.includes(paymentId))
      state.lostPayments = state.lostPayments.filter((payment) => !lost.includes(payment))
      return { paymentIds: lost.map(({ paymentId }) => paymentId) }
    }),
    restoreReservations: unary(async () => state.restored),
    acceptUncountedPayments: unary(async ({ paymentIds, reason }) => {
      state.acceptedBecause.push(reason)
      const accepted = state.restored.refused.filter(({ paymentId }) => paymentIds.includes(paymentId))
      const refused = state.restored.refused.filter((payment) => !accepted.includes(payment))
      state.restored = { ...state.restored, refused, refusedCount: BigInt(refused.length) }
      return { paymentIds: accepted.map(({ paymentId }) => paymentId) }
    }),
    audit: unary(async (request) => {
      state.auditRequest = request
      return { checks: state.checks }
    })
  }
}

function outgoingPaymentOf({ outgoingPayment }: State, url: string): wallet.OutgoingPayment {
  if (outgoingPayment?.url === url) return outgoingPayment
  throw new RpcError({ code: status.NOT_FOUND, message: 'no such payment', field: 'outgoing_payment' })
}

function decide(
  state: State,
  url: string,
  decision: { readonly decision: string; readonly reason: string }
): { readonly payment: wallet.OutgoingPayment } {
  const payment = outgoingPaymentOf(state, url)
  if (payment.approval === undefined)
    throw new RpcError({
      code: status.FAILED_PRECONDITION,
      message: 'the payment met no rule',
      field: 'outgoing_payment'
    })
  const approval = { ...payment.approval, ...decision, decisionMeaning: 'So it was.', decideTime: now }
  return { payment: { ...payment, approval: { ...approval, decidedBy: 'spiffe://example/risk' } } }
}

function peerService(state: State, { unary }: Handlers): wallet.PeerServiceServer {
  const peerOf = (name: string): wallet.Peer => {
    const peer = state.peers.find((candidate) => candidate.name === name)
    if (peer !== undefined) return peer
    throw new RpcError({ code: status.NOT_FOUND, message: 'there is no such peer', field: 'name' })
  }
  const entriesOf = (date: string): { entries: wallet.PeerEntry[]; incomplete: boolean } => {
    if (date <= state.today)
      return { entries: state.peerEntries.get(date) ?? [], incomplete: date === state.today }
    throw new RpcError({ code: status.FAILED_PRECONDITION, message: 'date has not begun', field: 'date' })
  }
  return {
    createPeer: unary(async (request) => {
      state.peerRequests.create = request
      if (!/^[a-z]+$/.test(request.name)) {
        const message = 'name must be 1 to 64 letters'
        throw new RpcError({ code: status.INVALID_ARGUMENT, message, field: 'name' })
      }
      const peer = wallet.Peer.fromPartial({
        ...request,
        id: '01936000-0000-7000-8000-000000000004',
        receivableValue: '0',
        payableValue: '0',
        incomingTokens: [{ hashPrefix: '0123abcd', createTime: now }],
        createTime: now
      })
      state.peers.push(peer)
      return { peer }
    }),
    getPeer: unary(async ({ name }) => ({ peer: peerOf(name) })),
    listPeers: unary(async (request) => {
      const [peers, nextPageToken] = pageOf(state.peers, request)
      return { peers, nextPageToken }
    }),
    updatePeer: unary(async (request) => {
      state.peerRequests.update = request
      return { peer: peerOf(request.name) }
    }),
    rotatePeerToken: unary(async (request) => {
      state.peerRequests.rotate = request
      const peer = peerOf(request.name)
      const expireTime = new Date(now.getTime() + request.overlapSeconds * 1_000)
      const before = peer.incomingTokens.map((token) => ({ ...token, expireTime }))
      const added = { hashPrefix: 'fedc9876', createTime: now, expireTime: undefined }
      return { peer: { ...peer, incomingTokens: [added, ...before] } }
    }),
    settlePeer: unary(async (request) => {
      const peer = peerOf(request.name)
      const { SETTLEMENT_DIRECTION_RECEIVED } = wallet.SettlementDirection
      if (request.value === '0') {
        const message = 'value must be above 0'
        throw new RpcError({ code: status.INVALID_ARGUMENT, message, field: 'value' })
      }
      const isLike = (other: wallet.SettlePeerRequest): boolean =>
        (['name', 'direction', 'reference'] as const).every((field) => other[field] === request[field])
      if (!state.settlements.has(request.key)) {
        if (request.anotherWithReference !== true && [...state.settlements.values()].some(isLike)) {
          const message = 'a settlement with this reference was recorded'
          throw new RpcError({ code: status.ALREADY_EXISTS, message, field: 'reference' })
        }
        const side = request.direction === SETTLEMENT_DIRECTION_RECEIVED ? 'receivableValue' : 'payableValue'
        peer[side] = String(BigInt(peer[side]) - BigInt(request.value))
      }
      state.settlements.set(request.key, request)
      if (state.lostAnswers > 0) {
        state.lostAnswers -= 1
        throw new RpcError({ code: status.UNAVAILABLE, message: 'gone' })
      }
      return { peer }
    }),
    getPeerStatement: unary(async ({ name, date }) => {
      const peer = peerOf(name)
      const { incomplete } = entriesOf(date)
      const days = [...state.peerEntries].toSorted(([one], [other]) => (one < other ? -1 : 1))
      const owedAfter = (isBooked: (day: string) => boolean): string =>
        days
          .filter(([day]) => isBooked(day))
          .flatMap(([, entries]) => entries)
          .reduce((owed, { kind, value }) => {
            const isPacket = kind === wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED
            return isPacket ? owed + BigInt(value) : owed - BigInt(value)
          }, BigInt(PEER_OWED_FIRST))
          .toString()
      return {
        peer,
        date,
        incomplete,
        openingReceivableValue: owedAfter((day) => day < date),
        closingReceivableValue: owedAfter((day) => day <= date),
        openingPayableValue: PEER_IS_OWED,
        closingPayableValue: PEER_IS_OWED
      }
    }),
    listPeerEntries: unary(async ({ name, date, ...page }) => {
      peerOf(name)
      const { entries: all, incomplete } = entriesOf(date)
      const [entries, nextPageToken] = pageOf(all, page)
      return { entries, nextPageToken, incomplete }
    }),
    listUnknownPackets: unary(async ({ name, ...page }) => {
      peerOf(name)
      const [packets, nextPageToken] = pageOf(state.unknownPackets, page)
      return { packets, nextPageToken }
    }),
    countUnknownPackets: unary(async () => ({ count: state.unknownPackets.length })),
    decidePacket: unary(async (request) => {
      peerOf(request.name)
      const index = state.unknownPackets.findIndex(({ condition }) => condition === request.condition)
      if (index === -1) throw new RpcError({ code: status.NOT_FOUND, message: 'no such packet' })
      state.unknownPackets.splice(index, 1)
      state.decisions.push(request)
      return {}
    })
  }
}

/** An entry of the ledger. */
const ENTRY = wallet.LedgerEntry.fromPartial({
  transferId: '01936000-0000-7000-8000-000000000004',
  kind: 'payment',
  state: 'posted',
  debitAccount: 'alice',
  creditAccount: 'clearing',
  value: '1000',
  postedValue: '1000',
  asset: { code: 'USD', scale: 2 },
  createTime: new Date(0)
})

function grantService(state: State, { unary }: Handlers): auth.GrantOperatorServiceServer {
  return {
    listGrants: unary(async (request) => {
      const found = state.grants.filter(
        (grant) => request.state === auth.GrantState.GRANT_STATE_UNSPECIFIED || grant.state === request.state
      )
      const [grants, nextPageToken] = pageOf(found, request)
      return { grants, nextPageToken }
    }),
    freezeClient: unary(async ({ client: walletAddress, reason }) => {
      if (!state.grants.some(({ client }) => client?.walletAddress === walletAddress))
        throw new RpcError({ code: status.NOT_FOUND, message: 'there is no such client', field: 'client' })
      return {
        client: auth.OperatedClient.fromPartial({
          client: { walletAddress },
          frozen: true,
          freezeTime: now,
          reason
        })
      }
    }),
    unfreezeClient: unary(async ({ client: walletAddress }) => ({
      client: auth.OperatedClient.fromPartial({ client: { walletAddress } })
    })),
    listFrozenClients: unary(async () => ({ clients: [], nextPageToken: '' })),
    getConsentRecord: unary(async () => ({ consentRecord: undefined })),
    getGrant: unary(async ({ grantId }) =>
      auth.GetGrantResponse.fromPartial({
        ...state.grants.filter((each) => each.grantId === grantId).map((grant) => ({ grant }))[0],
        access: [
          {
            access: { type: 'outgoing-payment' },
            spentDebitAmount: { value: '500', assetCode: 'USD', assetScale: 2 }
          }
        ]
      })
    ),
    getReservation: unary(async () => ({ reservation: undefined })),
    revokeGrant: unary(async ({ grantId }) => {
      const grant = state.grants.find((candidate) => candidate.grantId === grantId)
      if (grant === undefined)
        throw new RpcError({ code: status.NOT_FOUND, message: 'no such grant', field: 'grant_id' })
      grant.state = auth.GrantState.GRANT_STATE_REVOKED
      return { grant }
    }),
    auditLimits: unary(async () => ({ windowCount: 0n, reservationCount: 0n, violations: [] }))
  }
}
