import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient, isRpcError, status } from '@open-payments-server/grpc-transport'
import { operators } from '@open-payments-server/proto'
import { createLogger, Lifecycle, systemClock } from '@open-payments-server/runtime'
import { openIssuerKeys } from '@open-payments-server/service-kit/issuers'
import { openOperators } from '@open-payments-server/service-kit/operators'
import { startTestIssuer, type TestIssuer } from '@open-payments-server/testing'
import type { RevocationEvent } from '../src/domain/revocations.js'
import { GrpcFixture, SHOP, spending } from './support/grpc-fixture.js'

const ONCE = { idempotent: false }
const CLIENT = { kind: 'client', client: SHOP }
const logger = createLogger({ service: 'test', level: 'silent' })
const lifecycle = new Lifecycle(logger)

describe('what a second person approved at the auth server', () => {
  let issuer: TestIssuer
  let server: GrpcFixture
  let approver: operators.OperatorActionServiceClient
  let isStoreAway = false
  const told: RevocationEvent[] = []

  beforeAll(async () => {
    issuer = await startTestIssuer(systemClock, 'console')
    const roles = { operator: ['operations'], approver: ['approvals'] }
    const trusted = { issuer: issuer.issuer, clientIds: ['console'], rolesClaim: 'groups', roles }
    const config = { ENVIRONMENT: 'development' as const, OPERATOR_ISSUERS: JSON.stringify([trusted]) }
    const keys = openIssuerKeys({ config, clock: systemClock, logger, lifecycle })
    server = await GrpcFixture.start({
      openOperators: () => openOperators({ config, clock: systemClock }, keys),
      secondPerson: { ...config, OPERATOR_SECOND_PERSON_FOR: 'UnfreezeClient' },
      wrapBus: (bus) => ({
        ...bus,
        publish: async (event) => {
          if (isStoreAway) throw new Error('the store cannot be reached')
          told.push(event)
          await bus.publish(event)
        }
      })
    })
    await server.grant({ access: [spending()] })
    approver = createClient(operators.OperatorActionServiceClient, {
      target: server.address,
      deadlineMs: 20_000,
      retriesMax: 0,
      messageBytesMax: 1 << 20,
      metadata: { 'operator-token': await issuer.idToken({ sub: 'anna-1', groups: ['approvals'] }) }
    })
  })
  afterAll(async () => {
    approver.close()
    await server.stop()
    await lifecycle.stop()
    await issuer.stop()
  })

  const freeze = () => callUnary(server.operator, 'freezeClient', { client: SHOP, reason: 'theft' }, ONCE)
  const isFrozen = async (): Promise<boolean> => {
    const request = { client: SHOP, pageSize: 1, pageToken: '' }
    const { clients } = await callUnary(server.operator, 'listFrozenClients', request, ONCE)
    return clients.some(({ frozen }) => frozen)
  }
  /** Returns the id of the proposal. */
  const propose = async (): Promise<string> => {
    const request = { client: SHOP, reason: '' }
    const refusal: unknown = await callUnary(server.operator, 'unfreezeClient', request, ONCE).catch(
      (error: unknown) => error
    )
    if (!isRpcError(refusal) || refusal.reference === undefined) throw refusal
    return refusal.reference
  }
  const approve = (proposalId: string) =>
    callUnary(approver, 'approveProposal', { proposalId, reason: 'found' }, ONCE)

  it('is told again when it is repeated, after nobody could be told', async () => {
    await freeze()
    const proposalId = await propose()
    told.length = 0
    isStoreAway = true
    const untold = { code: status.UNAVAILABLE }
    await expect(approve(proposalId)).rejects.toMatchObject(untold)
    expect(await isFrozen()).toBe(false)
    await expect(approve(proposalId)).rejects.toMatchObject(untold)
    isStoreAway = false
    const { proposal } = await approve(proposalId)
    expect(proposal?.state).toBe(operators.ProposalState.PROPOSAL_STATE_APPROVED)
    expect(told).toEqual([CLIENT])
  })

  it('is done once: what was ordered since stays when it is repeated', async () => {
    await freeze()
    const proposalId = await propose()
    await approve(proposalId)
    await freeze()
    await approve(proposalId)
    expect(await isFrozen()).toBe(true)
  })
})
