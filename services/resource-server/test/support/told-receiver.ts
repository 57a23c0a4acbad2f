import { setTimeout as delay } from 'node:timers/promises'
import type { PaymentWorld } from './payment-world.js'

/** Waits until everything that happened is published. */
export async function whenPublished({ database }: Pick<PaymentWorld, 'database'>): Promise<void> {
  while ((await database.query('select 1 from event_outbox limit 1')).length > 0) await delay(5)
}

/** Creates an incoming payment, and waits until that is told: otherwise it is news for whoever waits next. */
export async function createToldReceiver(world: PaymentWorld, more?: object): Promise<string> {
  const receiver = await world.createReceiver(more)
  await whenPublished(world)
  return receiver
}
