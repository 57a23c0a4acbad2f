import { setTimeout as delay } from 'node:timers/promises'
import { callUnary, isRpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import type { ConnectedSystem } from './connect-system.js'
import { consentedToken, type Limits, outgoingAccess } from './consent.js'
import { amount, createReceiver, pay } from './payments.js'

/** A grant of alice to the shop, with a receiver that can be paid under it. */
export interface HeldGrant {
  readonly grantId: string
  readonly token: string
  readonly receiver: string
}

/** Makes such a grant. */
export async function holdGrant(system: ConnectedSystem, limits: Limits): Promise<HeldGrant> {
  const receiver = await createReceiver(system, system.shop)
  const { token, grant } = await consentedToken(system, system.shop, [outgoingAccess(system, limits)])
  return { grantId: grant.continueUri.split('/').at(-1) ?? '', token, receiver: receiver.url }
}

const actingIn = ({ walletAddresses }: ConnectedSystem): auth.ActingHolder => ({
  holder: { issuer: 'https://login.wallet.example', sub: 'alice-1' },
  walletAddresses: [walletAddresses.alice]
})

/** Alice pauses, resumes or stops a grant. */
export function changeGrant(
  system: ConnectedSystem,
  method: 'pauseGrant' | 'resumeGrant' | 'stopGrant',
  { grantId }: HeldGrant
): Promise<unknown> {
  const request = { acting: actingIn(system), grantId, idToken: '', ownership: '' }
  return callUnary(system.holderGrants, method, request, { idempotent: true })
}

/** Alice lowers what a grant may debit. */
export function lowerGrant(system: ConnectedSystem, { grantId }: HeldGrant, value: bigint): Promise<unknown> {
  const debitAmount = amount(value) as { value: string; assetCode: string; assetScale: number }
  const limits = [{ accessIndex: 0, debitAmount, receiveAmount: undefined }]
  const request = { acting: actingIn(system), grantId, limits, endTime: undefined }
  return callUnary(system.holderGrants, 'lowerGrant', request, { idempotent: true })
}

/** What alice did with a grant, the latest first. */
export async function actsOn(system: ConnectedSystem, { grantId }: HeldGrant): Promise<auth.GrantAct[]> {
  const request = { acting: actingIn(system), grantId }
  return (await callUnary(system.holderGrants, 'getAllowedGrant', request, { idempotent: true })).acts
}

/** What a call was refused with: its code and field; undefined when it was not. */
export async function refusalOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (!isRpcError(error)) throw error
    return `${status[error.code]} ${error.field ?? error.message}`
  }
}

/** Clients who pay under a grant without a pause. */
export interface Payers {
  /** Answers so far. */
  readonly answers: readonly Answer[]
  /** Waits until this many payments were created, and then some milliseconds at random. */
  whenCreated(count: number): Promise<void>
  /** Begins to count: every answer to a payment that is sent from now on is in what {@link stop} returns. */
  mark(): void
  /**
   * Lets each of them send some more payments, and waits for every answer.
   *
   * @returns the answers to what was sent since {@link mark}
   */
  stop(): Promise<readonly Answer[]>
}

const PAYERS = 10
/** Payments that each sends after the mark. */
const SENT_AFTER = 2
/** Maximum pause at random, in milliseconds. */
const PAUSE_MAX_MS = 40

/** Lets clients pay the same amount again and again, at the same time. */
export function startPayers(system: ConnectedSystem, grant: HeldGrant, value: bigint): Payers {
  const answers: Answer[] = []
  const afterMark: Answer[] = []
  let isMarked = false
  let isStopping = false
  const run = async (): Promise<void> => {
    for (let sentAfter = 0; !isStopping || sentAfter < SENT_AFTER;) {
      const isAfter = isMarked
      const answer = await pay(system, system.shop, grant.token, grant.receiver, value)
      answers.push(answer)
      if (!isAfter) continue
      sentAfter += 1
      afterMark.push(answer)
    }
  }
  const running = Promise.all(Array.from({ length: PAYERS }, run))
  const failed = running.then(() => {
    if (!isStopping) throw new Error('the payers ended before they were to')
  })
  failed.catch(() => undefined)
  return {
    answers,
    async whenCreated(count) {
      while (createdAmong(answers) < count) await Promise.race([failed, delay(1)])
      await delay(Math.random() * PAUSE_MAX_MS)
    },
    mark() {
      isMarked = true
    },
    async stop() {
      isStopping = true
      await running
      return afterMark
    }
  }
}

/** Number of answers to payments that were created. */
export function createdAmong(answers: readonly Answer[]): number {
  return answers.filter(({ status: code }) => code === 201).length
}

/** What both services keep of the payments under a grant. */
export interface KeptOfGrant {
  /** Number of payments, of which every one is completed. */
  readonly completed: number
  /** Number of payments that are not, and of reservations that are open. */
  readonly unfinished: number
  /** What the payments debited. */
  readonly sent: bigint
  /** What the money that moved for them adds up to. */
  readonly moved: bigint
  /** What all intervals of the grant count as spent. */
  readonly spent: bigint
}

/** Reads what is kept. */
export async function keptOf(system: ConnectedSystem, { grantId }: HeldGrant): Promise<KeptOfGrant> {
  const [paid] = await system.resourceDatabase.query<
    Record<'completed' | 'others' | 'sent' | 'moved', string>
  >(
    `select count(*) filter (where state = 'completed')::text as completed,
            count(*) filter (where state <> 'completed')::text as others,
            coalesce(sum(settled_debit_value), 0)::text as sent,
            (select coalesce(sum(t.amount), 0)::text from transfer t join outgoing_payment p on p.id = t.payment_id
              where p.grant_id = $1 and t.kind = 'delivery') as moved
       from outgoing_payment where grant_id = $1`,
    [grantId]
  )
  const [counted] = await system.authDatabase.query<Record<'open' | 'spent', string>>(
    `select (select count(*)::text from reservation where grant_id = $1 and state = 'open') as open,
            (select coalesce(sum(w.spent_debit_value), 0)::text
               from limit_window w join access_item a on a.id = w.access_item_id where a.grant_id = $1) as spent`,
    [grantId]
  )
  return {
    completed: Number(paid?.completed),
    unfinished: Number(paid?.others) + Number(counted?.open),
    sent: BigInt(paid?.sent ?? -1),
    moved: BigInt(paid?.moved ?? -1),
    spent: BigInt(counted?.spent ?? -1)
  }
}
