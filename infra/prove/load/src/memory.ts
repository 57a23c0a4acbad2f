import Table from 'cli-table3'
import { Inspector } from '@open-payments-server/acceptance'
import { CALLS } from './calls.js'
import { layGroundwork } from './groundwork.js'
import { Measuring } from './measure.js'
import { readMemory } from './process-usage.js'
import { STYLE } from './report/table.js'
import { startStack } from './stack.js'

/** Reads and writes of both services. */
const MIX = [
  'wallet-address',
  'introspection',
  'incoming-get',
  'grant-jwk',
  'incoming-create',
  'payment-grants'
]
const STEPS = 10
const CONCURRENCY = 8
const GROWTH_MAX = 1.1
const MEBIBYTE = 1_048_576

/**
 * Measures the heaps of both services after garbage collection, during requests of many kinds.
 *
 * @param requests their total number
 * @returns whether no heap grew by more than a tenth since the first tenth of the requests, and the audit found no violations
 */
export async function runMemory(requests: number): Promise<boolean> {
  const stack = await startStack({ rows: 0, replicas: 1, rateLimits: true, inspected: true })
  try {
    const groundwork = await layGroundwork(stack)
    const calls = CALLS.filter(({ name }) => MIX.includes(name)).map(
      (call) => new Measuring(stack, groundwork, call)
    )
    const inspectors = await Promise.all(
      stack.services.map(({ options }) => Inspector.connect(options.inspectorPort ?? 0))
    )
    const names = stack.services.map(({ options }) => options.name)
    const table = new Table({
      style: STYLE,
      head: ['Requests', ...names.flatMap((name) => [`${name}: heap MiB`, 'RSS MiB'])]
    })
    const heaps: number[][] = []
    for (let step = 1; step <= STEPS; step += 1) {
      for (const call of calls) await call.send(CONCURRENCY, Math.ceil(requests / STEPS / calls.length))
      const heap = await Promise.all(inspectors.map((inspector) => inspector.heapAfterCollection()))
      const resident = await Promise.all(stack.services.map(({ id }) => readMemory(id)))
      heaps.push(heap)
      table.push([
        (requests * step) / STEPS,
        ...heap.flatMap((bytes, index) => [bytes, resident[index] ?? 0].map(mebibytes))
      ])
    }
    for (const inspector of inspectors) inspector.close()
    console.log(table.toString())
    const violations = await stack.system.audit()
    for (const violation of violations) console.log(`  audit: ${violation}`)
    return (
      violations.length === 0 &&
      names.every((name, index) =>
        isFlat(
          name,
          heaps.map((heap) => heap[index] ?? 0)
        )
      )
    )
  } finally {
    await stack.stop()
  }
}

function isFlat(name: string, heaps: readonly number[]): boolean {
  const growth = (heaps[heaps.length - 1] ?? 0) / (heaps[0] ?? 1)
  console.log(
    `  ${name}: the heap is ${growth.toFixed(2)} times that after the first tenth (at most ${String(GROWTH_MAX)})`
  )
  return growth <= GROWTH_MAX
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1)
}
