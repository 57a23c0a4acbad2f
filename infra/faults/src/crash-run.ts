import {
  allSettled,
  amount,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess
} from '@open-payments-server/acceptance'
import type { Answer, SignedRequestOptions } from '@open-payments-server/testing'
import type { Crash } from './crash-points.js'
import type { CrashSystem } from './crash-system.js'

/** Within this time after a crash everything is as if it had not been. */
const CONVERGED_WITHIN_MS = 60_000
/** What the grant allows each day: enough for all that is sent, but not for the one payment that is refused. */
const DAILY_LIMIT = 10_000_000_000_000n

/** A payment as its client knows it. */
interface SentPayment {
  /** Tells it apart: kept in its metadata. */
  readonly mark: string
  readonly request: SignedRequestOptions
  /** undefined when none came. */
  readonly answer: Answer | undefined
}

let crashCount = 0

/**
 * Sends payments of every kind, crashes a service at the boundary, and looks whether everybody was told the truth and all
 * the money is where it belongs.
 *
 * @throws Error with everything that is not as it must be
 */
export async function runCrash(system: CrashSystem, crash: Crash): Promise<void> {
  crashCount += 1
  const run = await prepare(system, `crash ${String(crashCount)}`)
  const crashed = system.crash(crash.steps)
  const [sent] = await Promise.all([run.sendAll(), crashed])
  await converged(system)
  const wrong = await compareWithTruth(system, sent)
  // A client that was not answered, or told to try again, sends the very same request: it must be told what is.
  const unsure = sent.filter(({ answer }) => answer === undefined || answer.status >= 500)
  const repeated = await Promise.all(unsure.map((payment) => run.send(payment.mark, payment.request)))
  await converged(system)
  wrong.push(...(await compareWithTruth(system, repeated)))
  for (const { mark, answer } of repeated) {
    if (answer === undefined || answer.status >= 500)
      wrong.push(`${mark} was answered ${String(answer?.status)} though nothing is broken any more`)
  }
  wrong.push(...(await system.audit()), ...(await run.compareSums()))
  if (wrong.length > 0) throw new Error([`after a crash of the ${crash.name}:`, ...wrong].join('\n'))
}

interface Run {
  sendAll(): Promise<SentPayment[]>
  send(mark: string, request: SignedRequestOptions): Promise<SentPayment>
  /** What the balances and the grant say against what the payments say; resolves to what does not agree. */
  compareSums(): Promise<string[]>
}

async function prepare(system: CrashSystem, name: string): Promise<Run> {
  const open = await createReceiver(system, system.shop)
  const small = await createReceiver(system, system.shop, { incoming: 150n })
  const interval = `R/${new Date(Date.now() - 1_000).toISOString()}/P1D`
  const { token } = await consentedToken(system, system.shop, [
    outgoingAccess(system, { debitAmount: amount(DAILY_LIMIT), interval })
  ])
  const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }
  const kinds: readonly [receiver: string, debit: bigint][] = [
    [open.url, 100n],
    [open.url, 101n],
    // Of these two one ends in part, or is not created.
    [small.url, 100n],
    [small.url, 100n],
    // More than there is: fails once it is created.
    [open.url, DAILY_LIMIT / 2n],
    // More than the grant allows: refused.
    [open.url, DAILY_LIMIT + 1n]
  ]
  const send = async (mark: string, request: SignedRequestOptions): Promise<SentPayment> => {
    const url = `${system.resourceServerUrl}/outgoing-payments`
    const answer = await system.shop.request('POST', url, request).catch(() => undefined)
    return { mark, request, answer }
  }
  return {
    send,
    sendAll: () =>
      Promise.all(
        kinds.map(([receiver, debit], index) => {
          const mark = `${name}, payment ${String(index)}`
          const walletAddress = system.walletAddresses.alice
          const body = {
            walletAddress,
            incomingPayment: receiver,
            debitAmount: amount(debit),
            metadata: { mark }
          }
          const createdSeconds = Math.floor(Date.now() / 1_000)
          return send(mark, { accessToken: token, body, signature: { createdSeconds } })
        })
      ),
    async compareSums() {
      const [sums] = await system.resourceDatabase.query<{ sent: string; delivered: string }>(
        `select coalesce(sum(sent_value), 0) as sent, coalesce(sum(delivered_value), 0) as delivered
           from outgoing_payment where metadata->>'mark' like $1`,
        [`${name}, %`]
      )
      const spent = await system.shop.request('GET', `${system.resourceServerUrl}/outgoing-payment-grant`, {
        accessToken: token
      })
      const sent = BigInt(sums?.sent ?? -1)
      const delivered = BigInt(sums?.delivered ?? -1)
      const expected: readonly [what: string, found: bigint, due: bigint][] = [
        ['taken from alice', before.alice - (await system.balance('alice')), sent],
        ['given to bob', (await system.balance('bob')) - before.bob, delivered],
        ['spent under the grant', BigInt(spent.textAt('spentDebitAmount.value')), sent]
      ]
      return expected.flatMap(([what, found, due]) =>
        found === due ? [] : [`${String(found)} ${what}, and payments of ${String(due)}`]
      )
    }
  }
}

/** Waits until no payment is pending, every outcome is delivered and no reservation is open. */
async function converged(system: CrashSystem): Promise<void> {
  await allSettled(system, CONVERGED_WITHIN_MS)
  await eventually(
    'no reservation is open',
    async () => {
      const open = await system.authDatabase.query(`select 1 from reservation where state = 'open' limit 1`)
      return open.length === 0
    },
    CONVERGED_WITHIN_MS
  )
  // A release of the last reservation may have come about after the outbox was looked at.
  await allSettled(system, CONVERGED_WITHIN_MS)
}

/** What clients were told that is not so. */
async function compareWithTruth(system: CrashSystem, sent: readonly SentPayment[]): Promise<string[]> {
  const rows = await system.resourceDatabase.query<{ id: string; mark: string }>(
    `select id, metadata->>'mark' as mark from outgoing_payment where metadata->>'mark' = any($1)`,
    [sent.map(({ mark }) => mark)]
  )
  return sent.flatMap(({ mark, answer }) => {
    const made = rows.filter((row) => row.mark === mark)
    if (made.length > 1) return [`${mark} was made ${String(made.length)} times`]
    if (answer === undefined) return []
    const told = answer.status === 201 ? answer.textAt('id').split('/').at(-1) : undefined
    return told === made[0]?.id
      ? []
      : [`${mark} was answered ${String(answer.status)} ${String(told)}, and is ${String(made[0]?.id)}`]
  })
}
