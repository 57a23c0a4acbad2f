// A process of its own, because Node reads NODE_EXTRA_CA_CERTS only when it starts. Uses the shared store of a service at the place
// that the first parameter has as JSON, and prints what came of it, or the codes of the first connection that was refused for its
// certificate.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { openSharedStore } from '@open-payments-server/shared-store'

const AGAIN_MS = 50

let isOver = false
let tellRefusal
const refused = new Promise((resolve) => {
  tellRefusal = resolve
})
const store = openSharedStore({
  place: JSON.parse(process.argv[2]),
  service: `test:${randomUUID()}`,
  commandTimeoutMs: 2_000,
  aheadMaxSeconds: 1,
  clock: Date,
  logger: {
    warn: ({ err }) => {
      const refused = codesOf(err)
      // A busy machine may be too slow for a connection, which is then tried again.
      if (refused.some((code) => /TLS|CERT/.test(code))) tellRefusal({ refused })
    }
  }
})
const outcome = await Promise.race([use(), refused])
isOver = true
await store.close()
process.stdout.write(JSON.stringify(outcome))

async function use() {
  const received = new Promise((resolve) => {
    const handlers = {
      onMessage: (message) => {
        resolve(Buffer.from(message).toString())
      },
      onInterrupted: () => undefined,
      onResumed: () => undefined
    }
    void eventually(() => store.subscribe('news', handlers))
  })
  // Another one each time: what was created before the store was opened is never accepted.
  const key = await eventually(async () => {
    const fresh = randomUUID()
    return (await mark(fresh)) ? fresh : undefined
  })
  const again = await mark(key)
  await store.publish('news', Buffer.from('hello'), 2_000)
  return { again, received: await received }
}

function mark(key) {
  return store.markOnce(key, 331, Math.floor(Date.now() / 1_000))
}

/** Tries something until it gives anything: a connection may not be there yet. That one fails is told by itself. */
async function eventually(attempt) {
  while (!isOver) {
    const found = await attempt().catch(() => undefined)
    if (found !== undefined) return found
    await delay(AGAIN_MS)
  }
  return undefined
}

/** Of an error and of those that it is made of. */
function codesOf(error) {
  if (!(error instanceof Error)) return []
  const { code, cause, errors = [], lastNodeError } = error
  return [...(code === undefined ? [] : [code]), ...[cause, lastNodeError, ...errors].flatMap(codesOf)]
}
