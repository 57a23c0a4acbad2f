import { allSettled } from '@open-payments-server/acceptance'
import { callUnary, isRpcError, readStream, status } from '@open-payments-server/grpc-transport'
import type { events, wallet } from '@open-payments-server/proto'
import { operatorCalls, type OperatorCall } from '../generators/calls.js'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { staysHere, type World } from './world.js'

/** How a call may be refused: each says what is wrong with it. */
const REFUSALS: ReadonlySet<status> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.FAILED_PRECONDITION
])

/** How long a stream may take until its first message, in milliseconds. */
const FIRST_MESSAGE_MS_MAX = 5_000

/** Makes a call; of a stream it takes the first message. */
async function call(world: World, { of, method, request }: OperatorCall): Promise<void> {
  const { system, events } = world
  const eventClient = events[of === 'events' ? 'resource-server' : 'auth-server']
  if (method === 'watchEvents') {
    const signal = AbortSignal.timeout(FIRST_MESSAGE_MS_MAX)
    const messages = readStream(eventClient, method, request as events.WatchEventsRequest, { signal })
    for await (const _ of messages) return
    throw new Error('a stream ended without a message')
  }
  const clients = {
    wallets: system.operator,
    grants: system.grantOperator,
    webhooks: system.webhooks['resource-server'],
    'grant webhooks': system.webhooks['auth-server'],
    events: eventClient,
    'grant events': eventClient
  }
  // The generator names the methods of each client, with requests of their types: which, only it knows.
  const client = clients[of] as wallet.WalletOperatorServiceClient
  await callUnary(client, method as 'createRefund', request as wallet.CreateRefundRequest, {
    idempotent: false
  })
}

/** What calls may change: every change has an event, or is one of the provider's own settings. */
async function stateOf({ system }: World): Promise<string> {
  const count = `(select count(*) from event) + (select count(*) from event_outbox)`
  const settings = `(select md5(string_agg(concat(id, url, types::text, wallet_address, secret, disabled_cause), ',' order by id))
                       from webhook_endpoint)`
  const [resource] = await system.resourceDatabase.query<{ state: string }>(
    `select concat(${count}, ' ', ${settings}, ' ', (select count(*) from approval_rule), ' ', (select count(*) from refund)) as state`
  )
  const [auth] = await system.authDatabase.query<{ state: string }>(
    `select concat(${count}, ' ', ${settings}) as state`
  )
  return `${String(resource?.state)}, ${String(auth?.state)}`
}

/** Whether it names only hosts of this machine, so that no event leaves it. */
function isSafe(request: object, world: World): boolean {
  return staysHere(Buffer.from(JSON.stringify(request)), world)
}

/** Calls of operators, and of services that watch. */
export function operatorTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'refunds, approvals, freezes, webhooks and events over gRPC',
      share: 60,
      acceptedMin: 0.05,
      cases: () => operatorCalls(world().callPlaces).filter(({ request }) => isSafe(request, world())),
      async attack(attempted) {
        const { system } = world()
        await allSettled(system)
        const before = await stateOf(world())
        try {
          await call(world(), attempted)
          return ACCEPTED
        } catch (error) {
          if (!isRpcError(error)) throw error
          const code = status[error.code]
          mustHold({
            [`${attempted.method} is answered or refused: ${String(error)}`]: REFUSALS.has(error.code)
          })
          mustHold({
            [`${attempted.method} names the wrong field: ${String(error)}`]:
              error.code !== status.INVALID_ARGUMENT || error.field !== undefined,
            [`${attempted.method}, refused with ${String(error)}, changes nothing`]:
              (await stateOf(world())) === before
          })
          return code
        }
      }
    })
  ]
}
