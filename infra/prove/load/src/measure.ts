import { allSettled } from '@open-payments-server/acceptance'
import { type Call, CALLS } from './calls.js'
import type { Send, Sent } from './generator/messages.js'
import type { Groundwork } from './groundwork.js'
import { type CpuByProcess, readCpu, totalOf } from './process-usage.js'
import type { Measurement, SteadyMeasurement } from './results.js'
import type { Stack } from './stack.js'
import { middleBy, shareOfFloor } from './statistics.js'

const straight = (work: () => Promise<void>): Promise<void> => work()

/** How a call is measured. */
export interface MeasureOptions {
  readonly concurrency: number
  /** How long the call itself is measured. Its floor is measured for half as long, before and after. */
  readonly seconds: number
  /** Runs while the call itself is measured, and nothing else. */
  readonly around?: ((work: () => Promise<void>) => Promise<void>) | undefined
}

/** Requests of the first estimate of a call's speed. */
const FIRST_REQUESTS = 400
const FIRST_SECONDS = 1.5
/** Warm-up: as many requests as the first estimate allows in this time; with more, no call became faster. */
const WARM_UP_SECONDS = 8
const FLOOR_WARM_UP_SECONDS = 2
const WARM_UP_CONCURRENCY = 8
/** Factor by which more requests are prepared than the measured rate needs, because it may grow. */
const SPARE = 1.6
const POOL_MAX = 20_000
/** A repeated pool may be smaller than the number of requests sent. */
const REPEATED_POOL = 1_000
const PAYMENTS_SETTLE_WITHIN_MS = 300_000
/** Well before signatures become too old. */
const SENT_AT_ONCE = 5_000
const SECONDS_MAX = 200
const FLOOR_STATUS = 200
/** Senders for steady rates: enough that a request never waits for one. */
const STEADY_CONCURRENCY = 32
/** Latencies do not count while code is still being compiled. */
const LEAD_IN_SECONDS = 2
/** Odd numbers, so that one run is the median. */
const RUNS = 5
const STEADY_RUNS = 3

/** Measures one call, compared with its floor. */
export class Measuring {
  readonly #stack: Stack
  readonly #groundwork: Groundwork
  readonly #call: Call
  #perSecond: number | undefined
  #floorPerSecond = 0

  constructor(stack: Stack, groundwork: Groundwork, call: Call) {
    this.#stack = stack
    this.#groundwork = groundwork
    this.#call = call
  }

  /**
   * Sends a call and its floor until V8 has compiled their code. After a few hundred requests a service needs 50 % more CPU time
   * per request than after some thousands; its floor, which is far less code, 25 % more.
   */
  async warmUp(): Promise<void> {
    const perSecond = await this.#sendFirst(WARM_UP_CONCURRENCY)
    await this.send(WARM_UP_CONCURRENCY, Math.min(POOL_MAX, Math.ceil(perSecond * WARM_UP_SECONDS)))
    await this.#prepare(REPEATED_POOL)
    await this.#sendFloor({ concurrency: WARM_UP_CONCURRENCY, seconds: FLOOR_WARM_UP_SECONDS })
  }

  /**
   * Measures a call several times, each between two measurements of its floor and for a part of the time. The run with the median
   * share of its floor counts, because the speed of a shared machine changes within seconds.
   */
  async measureRepeatedly({ seconds, ...options }: Omit<MeasureOptions, 'around'>): Promise<Measurement> {
    const runs: Measurement[] = []
    for (let run = 0; run < RUNS; run += 1)
      runs.push(await this.measure({ ...options, seconds: seconds / RUNS }))
    return middleBy(runs, ({ shareOfFloor }) => shareOfFloor)
  }

  /** Measures a call between two measurements of its floor. */
  async measure(options: MeasureOptions): Promise<Measurement> {
    const { concurrency, seconds, around = straight } = options
    if (this.#perSecond === undefined) await this.#sendFirst(concurrency)
    await this.#prepare(this.#poolSize(seconds))
    const before = await this.#sendToFloor(concurrency, seconds / 2)
    let measured: Measured | undefined
    await around(async () => {
      measured = await this.#sendMeasured(concurrency, seconds)
    })
    if (measured === undefined) throw new Error('nothing was measured')
    const { sent, cpuMs, statements } = measured
    this.#perSecond = Math.max(rateOf(sent), this.#perSecond ?? 0)
    await this.settle()
    const after = await this.#sendToFloor(concurrency, seconds / 2)
    const floors = [before, after].map(({ sent: floor }) => rateOf(floor))
    this.#floorPerSecond = Math.max(...floors, this.#floorPerSecond)
    const ownCpuMs = perRequest(cpuMs, sent.count)
    const floorCpuMs = perRequest(sumOf(before.cpuMs, after.cpuMs), before.sent.count + after.sent.count)
    return {
      call: this.#call.name,
      concurrency,
      perSecond: rateOf(sent),
      ...latencyOf(sent),
      cpuMs: ownCpuMs,
      statements: statements / sent.count,
      bytes: (sent.bytesSent + sent.bytesReceived) / sent.count,
      requests: sent.count,
      floorPerSecond: floors.reduce((sum, floor) => sum + floor, 0) / floors.length,
      floorCpuMs,
      shareOfFloor: shareOfFloor(rateOf(sent), floors),
      cpuShareOfFloor: totalOf(floorCpuMs) / totalOf(ownCpuMs)
    }
  }

  /** Sends requests without measuring. */
  async send(concurrency: number, count: number): Promise<void> {
    for (let left = count; left > 0;) {
      await this.#prepare(Math.min(left, SENT_AT_ONCE))
      left -= (await this.#send({ concurrency, seconds: SECONDS_MAX, count: Math.min(left, SENT_AT_ONCE) }))
        .count
      await this.settle()
    }
  }

  /**
   * Latencies at a fraction of the maximum rate, for the call and for its floor. Of several runs the one with the median tail
   * counts, because other work on a shared machine makes tails longer.
   */
  async measureSteady(seconds: number, part: number): Promise<SteadyMeasurement> {
    if (this.#perSecond === undefined) throw new Error('the call was not measured yet')
    const perSecond = this.#perSecond * part
    const steady = {
      concurrency: STEADY_CONCURRENCY,
      seconds: LEAD_IN_SECONDS + seconds,
      leadInSeconds: LEAD_IN_SECONDS
    }
    const runs: Sent[] = []
    const floorRuns: Sent[] = []
    for (let run = 0; run < STEADY_RUNS; run += 1) {
      await this.#prepare(Math.ceil(perSecond * steady.seconds) + STEADY_CONCURRENCY)
      runs.push(await this.#send({ ...steady, perSecond }))
      await this.settle()
      floorRuns.push(await this.#sendFloor({ ...steady, perSecond: this.#floorPerSecond * part }))
    }
    const [own, floor] = [middleBy(runs, tailOf), middleBy(floorRuns, tailOf)]
    return {
      call: this.#call.name,
      perSecond: rateOf(own),
      p50Ms: own.p50Ms,
      p99Ms: own.p99Ms,
      floor: { p50Ms: floor.p50Ms, p99Ms: floor.p99Ms }
    }
  }

  /** Waits until the work after the answers is done. */
  async settle(): Promise<void> {
    if (this.#call.makesPayments === true) await allSettled(this.#stack.system, PAYMENTS_SETTLE_WITHIN_MS)
  }

  /** @returns requests answered per second */
  async #sendFirst(concurrency: number): Promise<number> {
    await this.#prepare(FIRST_REQUESTS)
    const perSecond = rateOf(await this.#send({ concurrency, seconds: FIRST_SECONDS }))
    this.#perSecond ??= perSecond
    await this.settle()
    return perSecond
  }

  #poolSize(seconds: number): number {
    return Math.min(POOL_MAX, Math.ceil((this.#perSecond ?? 0) * seconds * SPARE) + FIRST_REQUESTS)
  }

  async #prepare(count: number): Promise<void> {
    if (this.#call.target === 'introspection') {
      const { keyId } = this.#groundwork.signer
      await this.#stack.generator.prepareIntrospections(
        this.#groundwork.paymentTokens.map((accessToken) => ({ accessToken, keyId }))
      )
      return
    }
    const outlines = await this.#call.outlines(
      this.#groundwork,
      this.#call.isRepeatable ? Math.min(count, REPEATED_POOL) : count
    )
    await this.#stack.generator.prepare({
      outlines,
      signer: this.#call.isPublic === true ? undefined : this.#groundwork.signer
    })
  }

  #send(task: Pace & Pick<Send, 'count'>): Promise<Sent> {
    const targets = this.#stack.targetsOf(this.#call.target)
    return this.#stack.generator.send({
      ...task,
      targets,
      status: this.#call.status,
      repeat: this.#call.isRepeatable
    })
  }

  async #sendMeasured(concurrency: number, seconds: number): Promise<Measured> {
    const [statementsBefore, cpuBefore] = [
      await this.#stack.statementCount(),
      await readCpu(this.#stack.groups)
    ]
    const sent = await this.#send({ concurrency, seconds })
    const [cpuAfter, statementsAfter] = [
      await readCpu(this.#stack.groups),
      await this.#stack.statementCount()
    ]
    return { sent, cpuMs: difference(cpuAfter, cpuBefore), statements: statementsAfter - statementsBefore }
  }

  async #sendToFloor(concurrency: number, seconds: number): Promise<Omit<Measured, 'statements'>> {
    const before = await readCpu(this.#stack.groups)
    const sent = await this.#sendFloor({ concurrency, seconds })
    return { sent, cpuMs: difference(await readCpu(this.#stack.groups), before) }
  }

  #sendFloor(task: Pace): Promise<Sent> {
    const targets = [this.#stack.floors.addressOf(this.#call.floor)]
    return this.#stack.generator.send({ ...task, targets, status: FLOOR_STATUS, repeat: true })
  }
}

type Pace = Pick<Send, 'concurrency' | 'seconds' | 'perSecond' | 'leadInSeconds'>

interface Measured {
  readonly sent: Sent
  readonly cpuMs: CpuByProcess
  readonly statements: number
}

/**
 * Creates payments for a while and waits until the last receiver has its money.
 *
 * @returns payments per second from the first creation until then, and payments created per second
 */
export async function measureCompleted(
  stack: Stack,
  groundwork: Groundwork,
  options: MeasureOptions
): Promise<{ perSecond: number; createdPerSecond: number; settledPerSecond: number; count: number }> {
  const { concurrency, seconds } = options
  const call = CALLS.find(({ name }) => name === 'payment-grants')
  if (call === undefined) throw new Error('there is no call that makes payments')
  const prepared = await call.outlines(groundwork, Math.min(POOL_MAX, Math.ceil(seconds * 1_500)))
  await stack.generator.prepare({ outlines: prepared, signer: groundwork.signer })
  const start = performance.now()
  const targets = stack.targetsOf('resource')
  const sent = await stack.generator.send({
    targets,
    concurrency,
    seconds,
    status: call.status,
    repeat: false
  })
  const secondsUntil = async (statement: string): Promise<number> => {
    await untilNone(stack, statement)
    return (performance.now() - start) / 1_000
  }
  const completed = await secondsUntil(`select 1 from outgoing_payment where state = 'pending' limit 1`)
  const settled = await secondsUntil('select 1 from grant_reservation where delivered_at is null limit 1')
  return {
    perSecond: sent.count / completed,
    createdPerSecond: rateOf(sent),
    settledPerSecond: sent.count / settled,
    count: sent.count
  }
}

const POLL_MS = 50

async function untilNone({ system }: Stack, statement: string): Promise<void> {
  const deadline = Date.now() + PAYMENTS_SETTLE_WITHIN_MS
  while ((await system.resourceDatabase.query(statement)).length > 0) {
    if (Date.now() > deadline) throw new Error(`did not end in time: ${statement}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function rateOf({ count, seconds }: Sent): number {
  return count / seconds
}

function tailOf({ p50Ms, p99Ms }: Sent): number {
  return p99Ms / p50Ms
}

function latencyOf({ p50Ms, p99Ms, maxMs }: Sent): Pick<Sent, 'p50Ms' | 'p99Ms' | 'maxMs'> {
  return { p50Ms, p99Ms, maxMs }
}

function difference(after: CpuByProcess, before: CpuByProcess): CpuByProcess {
  return Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ms - (before[name] ?? 0)]))
}

function sumOf(one: CpuByProcess, other: CpuByProcess): CpuByProcess {
  return Object.fromEntries(Object.entries(one).map(([name, ms]) => [name, ms + (other[name] ?? 0)]))
}

function perRequest(cpuMs: CpuByProcess, count: number): CpuByProcess {
  return Object.fromEntries(Object.entries(cpuMs).map(([name, ms]) => [name, ms / count]))
}
