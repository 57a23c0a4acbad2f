import {
  callUnary,
  type ClientObserver,
  createClient,
  isRpcError,
  observeCalls,
  RETRIES_MAX,
  RpcError,
  status
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { MESSAGE_BYTES_MAX } from '@open-payments-server/service-kit/grpc'
import type {
  Acting,
  ActKind,
  ActOutcome,
  AllowedGrant,
  AllowedGrants,
  AllowedItem,
  AllowedState,
  GrantAct,
  Resumption,
  Terms
} from '../domain/allowed.js'
import { type AskedItem, type AskedLimits, ServiceAway } from '../domain/grant.js'
import { answerOf, foundOf, REPEATABLE, there } from './answering.js'
import type { ServiceTarget } from './service-target.js'

const SERVICE = 'the auth server'

/** The auth server, for what pages ask about grants that were allowed. */
export interface AuthServerConnection extends AllowedGrants {
  /** From now on its calls are observed. */
  observe(observer: ClientObserver): void
  close(): void
}

/** Connects by itself, and reconnects when the connection breaks. */
export function connectAuthServer(target: ServiceTarget): AuthServerConnection {
  const client = createClient(auth.HolderGrantServiceClient, {
    ...target,
    retriesMax: RETRIES_MAX,
    messageBytesMax: MESSAGE_BYTES_MAX
  })
  return {
    async list(acting, state, { size, after }) {
      const request = {
        acting: actingMessage(acting),
        state: state === undefined ? STATE_UNSPECIFIED : STATES[state],
        pageSize: size,
        pageToken: after
      }
      const call = callUnary(client, 'listAllowedGrants', request, REPEATABLE)
      const { grants, nextPageToken } = await answerOf(SERVICE, call)
      return { items: grants.map(readGrant), next: nextPageToken }
    },
    async find(acting, grantId) {
      const request = { acting: actingMessage(acting), grantId }
      const found = await foundOf(SERVICE, callUnary(client, 'getAllowedGrant', request, REPEATABLE))
      if (found === undefined) return undefined
      return {
        grant: readGrant(there(SERVICE, found.grant)),
        acts: found.acts.map(readAct),
        resumption: found.resumption && readResumption(found.resumption)
      }
    },
    async act(acting, grantId, kind) {
      const request = { acting: actingMessage(acting), grantId }
      const outcome = await outcomeOf(callUnary(client, METHODS[kind], request, REPEATABLE))
      if (outcome === 'refused') throw new ServiceAway(`${SERVICE} refused an act that has no terms`)
      return outcome
    },
    async resume(acting, grantId, wish) {
      const request = { acting: actingMessage(acting), grantId, idToken: '', ownership: '', ...wish }
      const outcome = await outcomeOf(callUnary(client, 'resumeGrant', request, REPEATABLE))
      return outcome === 'refused' ? 'unproven' : outcome
    },
    lower(acting, grantId, { limits, endsAtMs }) {
      const request = {
        acting: actingMessage(acting),
        grantId,
        limits: limits.map(({ place, debitAmount, receiveAmount }) => ({
          accessIndex: place,
          debitAmount,
          receiveAmount
        })),
        endTime: endsAtMs === undefined ? undefined : new Date(endsAtMs)
      }
      return outcomeOf(callUnary(client, 'lowerGrant', request, REPEATABLE))
    },
    observe(observer) {
      observeCalls(client, observer)
    },
    close() {
      client.close()
    }
  }
}

const STATE_UNSPECIFIED = auth.AllowedGrantState.ALLOWED_GRANT_STATE_UNSPECIFIED

const STATES: Readonly<Record<AllowedState, auth.AllowedGrantState>> = {
  'in-force': auth.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE,
  paused: auth.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED,
  ended: auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED
}

const KINDS: Readonly<Record<ActKind, auth.GrantActKind>> = {
  paused: auth.GrantActKind.GRANT_ACT_KIND_PAUSED,
  resumed: auth.GrantActKind.GRANT_ACT_KIND_RESUMED,
  lowered: auth.GrantActKind.GRANT_ACT_KIND_LOWERED,
  stopped: auth.GrantActKind.GRANT_ACT_KIND_STOPPED
}

const METHODS = { paused: 'pauseGrant', stopped: 'stopGrant' } as const

/** Refusals of an act, by their code. */
const OUTCOMES: ReadonlyMap<number, ActOutcome> = new Map([
  [status.NOT_FOUND, 'unknown'],
  [status.FAILED_PRECONDITION, 'ended'],
  [status.INVALID_ARGUMENT, 'refused'],
  // Also when nobody answered: the call may have arrived.
  [status.UNAVAILABLE, 'unsure'],
  [status.DEADLINE_EXCEEDED, 'unsure']
])

async function outcomeOf(call: Promise<unknown>): Promise<ActOutcome> {
  try {
    await call
    return 'done'
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const outcome = OUTCOMES.get(error.code)
    // Whoever acts is named by this service: a person who cannot be is no fault of theirs.
    if (outcome === undefined || isAboutPerson(error)) throw new ServiceAway(SERVICE, { cause: error })
    return outcome
  }
}

function isAboutPerson(error: RpcError): boolean {
  return isRpcError(error, status.INVALID_ARGUMENT) && error.field?.startsWith('acting') === true
}

function actingMessage({ issuer, sub, walletAddresses }: Acting): auth.ActingHolder {
  return { holder: { issuer, sub }, walletAddresses: [...walletAddresses] }
}

function readGrant(message: auth.AllowedGrant): AllowedGrant {
  return {
    id: message.grantId,
    walletAddress: message.walletAddress,
    isConsentOfAnother: message.isConsentOfAnother,
    client: message.client?.walletAddress ?? '',
    clientKey: message.client?.jwkThumbprint ?? '',
    clientName: message.clientName,
    state: keyOf(STATES, message.state),
    items: message.access.map(readItem),
    createdAtMs: there(SERVICE, message.createTime).getTime(),
    lastUsedAtMs: message.lastUseTime?.getTime(),
    // One that is not ended can always be stopped, also where the version before answers.
    isStoppable: message.isStoppable || message.state !== STATES.ended,
    endsAtMs: message.endTime?.getTime(),
    consentedEndsAtMs: message.consentedEndTime?.getTime(),
    paymentsEndMs: message.paymentEndTime?.getTime(),
    pausedAtMs: message.pauseTime?.getTime()
  }
}

function readItem(message: auth.AllowedAccessItem): AllowedItem {
  const { intervalStartTime: start, intervalEndTime: end } = message
  return {
    item: readAccess(there(SERVICE, message.access)),
    consentedLimits: message.consentedLimits && readLimits(message.consentedLimits),
    spentDebit: message.spentDebitAmount,
    spentReceive: message.spentReceiveAmount,
    interval:
      start === undefined || end === undefined
        ? undefined
        : { startMs: start.getTime(), endMs: end.getTime() }
  }
}

function readAccess({ type, actions, identifier, limits }: auth.AccessItem): AskedItem {
  return {
    type,
    actions,
    identifier: identifier === '' ? undefined : identifier,
    limits: limits && readLimits(limits)
  }
}

function readLimits({ receiver, interval, debitAmount, receiveAmount }: auth.Limits): AskedLimits {
  return {
    receiver: receiver === '' ? undefined : receiver,
    interval: interval === '' ? undefined : interval,
    debitAmount,
    receiveAmount
  }
}

function readAct(message: auth.GrantAct): GrantAct {
  return {
    id: message.actId,
    kind: keyOf(KINDS, message.kind),
    isOwn: message.holder !== undefined,
    atMs: there(SERVICE, message.actTime).getTime(),
    before: readTerms(there(SERVICE, message.before)),
    after: readTerms(there(SERVICE, message.after))
  }
}

function readResumption({ document, signIn }: auth.Resumption): Resumption {
  return { document, signIn: signIn ?? null }
}

function readTerms({ access, endTime }: auth.GrantTerms): Terms {
  return { access: access.map(readAccess), endsAtMs: endTime?.getTime() }
}

function keyOf<Key extends string, Value>(values: Readonly<Record<Key, Value>>, value: Value): Key {
  const found = Object.entries(values).find(([, each]) => each === value)
  if (found === undefined) throw new ServiceAway(`${SERVICE} said something unknown: ${String(value)}`)
  return found[0] as Key // the entries are those of `values`
}
