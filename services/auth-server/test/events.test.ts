import { setTimeout as delay } from 'node:timers/promises'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { auth as contract, events } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import {
  approve,
  continueGrant,
  decide,
  issueGrant,
  type PendingGrant,
  requestPendingGrant
} from './grants.js'
import { assertAsDescribed } from './support/described-events.js'

let auth: TestAuthServer
let shop: TestClient
let client: events.EventServiceClient
let operator: contract.GrantOperatorServiceClient

beforeAll(async () => {
  auth = await startTestAuthServer()
  shop = auth.createClient('shop')
  const channel = {
    target: `127.0.0.1:${String(auth.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  }
  client = createClient(events.EventServiceClient, channel)
  operator = createClient(contract.GrantOperatorServiceClient, channel)
})
afterAll(async () => {
  client.close()
  operator.close()
  await auth.stop()
})

/** All events, once everything is published. Each must be as it is described. */
async function list(): Promise<events.Event[]> {
  for (let left = 1; left > 0;) {
    const [row] = await auth.database.query<{ left: number }>(
      'select count(*)::integer as left from event_outbox'
    )
    left = row?.left ?? 0
    if (left > 0) await delay(10)
  }
  const request = { afterCursor: '', types: [], pageSize: 1_000 }
  const listed = await callUnary(client, 'listEvents', request, { idempotent: true })
  listed.events.forEach(assertAsDescribed)
  return listed.events
}

/** What happened to a grant, in order: the type of each event, and the state that it tells. */
async function happenedTo(continueUri: string): Promise<string[]> {
  const told = (await list()).filter(({ subject }) => subject === continueUri)
  return told.map(({ type, data }) => `${type} ${(JSON.parse(data) as { state: string }).state}`)
}

/** Goes through the interaction, and collects the token. */
async function issue(grant: PendingGrant) {
  const reference = await approve(auth, grant)
  auth.clock.advanceSeconds(5)
  return continueGrant(shop, grant, reference)
}

const cancel = (grant: PendingGrant) =>
  shop.request('DELETE', grant.continueUri, { accessToken: grant.continuationToken })
const revoke = (grantId: string) => callUnary(operator, 'revokeGrant', { grantId }, { idempotent: false })
const idOf = (continueUri: string): string => continueUri.slice(-36)

describe('a grant tells what happens to it,', () => {
  it('from its request to the end of its token and its own', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const issued = await issue(grant)
    const rotated = await shop.request('POST', issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
    const end = () =>
      shop.request('DELETE', rotated.textAt('access_token.manage'), {
        accessToken: rotated.textAt('access_token.value')
      })
    expect([(await end()).status, (await end()).status]).toEqual([204, 204])
    expect([(await cancel(grant)).status, (await cancel(grant)).status]).toEqual([204, 204])
    expect(await happenedTo(grant.continueUri)).toEqual([
      'grant.requested pending',
      'grant.approved approved',
      'token.issued issued',
      'token.rotated issued',
      'token.revoked issued',
      'grant.ended revoked'
    ])
  })

  it('issued at once, as nobody must consent', async () => {
    const issued = await issueGrant(shop)
    const continueUri = issued.textAt('continue.uri')
    expect(await happenedTo(continueUri)).toEqual(['grant.requested issued'])
    const rotated = await shop.request('POST', issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
    expect(rotated.status).toBe(200)
    expect(await happenedTo(continueUri)).toEqual(['grant.requested issued', 'token.rotated issued'])
  })

  it('declined by its account holder', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await decide(auth, grant, 'reject')
    await decide(auth, grant, 'reject')
    expect(await happenedTo(grant.continueUri)).toEqual([
      'grant.requested pending',
      'grant.declined rejected'
    ])
  })

  it('cancelled by its client before anyone decided', async () => {
    const grant = await requestPendingGrant(auth, shop)
    expect((await cancel(grant)).status).toBe(204)
    expect(await happenedTo(grant.continueUri)).toEqual(['grant.requested pending', 'grant.ended revoked'])
  })

  it('revoked while its token is rotated: its end is the last', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await issue(grant)
    const grantId = idOf(grant.continueUri)
    // As a rotation does, which began before: it locks the old token, and appends its event.
    const ending = await auth.database.inTransaction(async (query) => {
      await query('select 1 from access_token where grant_id = $1 for no key update', [grantId])
      const revoking = revoke(grantId)
      const waiting = `select 1 from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock'`
      while ((await auth.database.query(waiting)).length === 0) await delay(5)
      await query(
        `insert into event_outbox (type, subject_id, change, occurred_at)
         select 'token.rotated', id, json_build_object('state', state, 'updatedAt', updated_at), now()
           from grant_request where id = $1`,
        [grantId]
      )
      return { revoking }
    })
    await ending.revoking
    expect((await happenedTo(grant.continueUri)).slice(-2)).toEqual([
      'token.rotated issued',
      'grant.ended revoked'
    ])
  })

  it('revoked by an operator, whatever its state', async () => {
    const [pending, approved, issued] = [
      await requestPendingGrant(auth, shop),
      await requestPendingGrant(auth, shop),
      await requestPendingGrant(auth, shop)
    ]
    await approve(auth, approved)
    await issue(issued)
    for (const { continueUri } of [pending, approved, issued, issued]) await revoke(idOf(continueUri))
    for (const { continueUri } of [pending, approved, issued])
      expect((await happenedTo(continueUri)).filter((told) => told === 'grant.ended revoked')).toHaveLength(1)
  })
})

it('no event has a token or a secret of a grant', async () => {
  const grant = await requestPendingGrant(auth, shop)
  const issued = await issue(grant)
  const told = JSON.stringify(await list(), (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value
  )
  for (const secret of [
    grant.continuationToken,
    grant.nonce,
    grant.interactionId,
    issued.textAt('access_token.value'),
    issued.textAt('access_token.manage').slice(PUBLIC_URL.length)
  ])
    expect(told).not.toContain(secret)
})

it('an audit tells whether it passed, and not where', async () => {
  const audit = async () => {
    await callUnary(operator, 'auditLimits', {}, { idempotent: true })
    return (await list()).filter(({ type }) => type.startsWith('audit.'))
  }
  expect((await audit()).map(({ type }) => type)).toEqual(['audit.passed'])
  await auth.database.query(
    `insert into limit_window (access_item_id, interval_index, spent_debit_value, spent_receive_value, debit_code, debit_scale,
                               receive_code, receive_scale)
     select id, 0, 1, 1, 'USD', 2, 'USD', 2 from access_item limit 1`
  )
  const [, failed] = await audit()
  expect(failed?.type).toBe('audit.failed')
  expect(failed?.data).toContain('"holds":false')
  expect(failed?.data).not.toContain('interval 0')
})
