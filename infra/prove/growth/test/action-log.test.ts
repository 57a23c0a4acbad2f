import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { requestToken, type ServiceName, startSystem, type System } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import { operators } from '@open-payments-server/proto'
import { explainStatements, findPlanFaults, type PlanNode } from '../src/explain-statements.js'

/** Acts that are there before the list begins, of which every ten have the same instant. */
const ACTS = 3_000
const PROPOSALS = 3_000
const OPEN_PROPOSALS = 7
const PAGE_SIZE = 100
const TIMEOUT_MS = 120_000
const READ = { idempotent: true }
/** A page reads no more than its rows and the one after them; that of an operator the same of what they approved. */
const LIMITS = { bigTables: new Set(['operator_action', 'operator_proposal']), rowsMax: 2 * (PAGE_SIZE + 1) }

let system: System
beforeAll(async () => {
  system = await startSystem()
  // Only clients that have asked for a grant can be frozen.
  await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
})
afterAll(() => system.stop())

describe.each<ServiceName>(['auth-server', 'resource-server'])(
  'with thousands of acts, the %s',
  (service) => {
    const database = () => (service === 'auth-server' ? system.authDatabase : system.resourceDatabase)
    const pool = () => {
      const [running] = service === 'auth-server' ? system.runningAuthServers : system.runningResourceServers
      if (running === undefined) throw new Error('nothing runs')
      return running.pool
    }
    beforeAll(async () => {
      await database().query(
        `insert into operator_action (id, operator, role, method, subject_kind, subject, request, reason, acted_at, outcome, ended_at)
         select gen_random_uuid(), 'machine-' || n % 3, 'operator', '/grown/Act', 'account', 'grown-' || n % 5, '{}', '',
                at, 'done', at
           from generate_series(1, ${ACTS}) n,
                lateral (select $1::timestamptz - (n / 10) * interval '1 second' as at) moment`,
        [new Date(system.clock.now())]
      )
      await database().query(
        `insert into operator_proposal (id, method, subject_kind, subject, request, request_bytes, request_hash, reason, proposer,
                                      proposed_at, expires_at, decision, decider, decider_issuer, decider_sub, decided_at)
         select gen_random_uuid(), '/grown/Act', 'account', 'grown', '{}', '', sha256(n::text::bytea), '', 'machine',
                now() - n * interval '1 second', now() + interval '100 years', decision, decider, decider, decider, decided_at
           from generate_series(1, ${PROPOSALS}) n,
                lateral (select case when n > ${PROPOSALS - OPEN_PROPOSALS} then null else 'approved' end as decision) made,
                lateral (select case when decision is not null then 'tom' end as decider,
                                case when decision is not null then now() end as decided_at) by_whom`
      )
      await database().query('analyze operator_action, operator_proposal')
    })

    /** Does something that is recorded. */
    const act = async (place: number): Promise<void> => {
      if (service === 'resource-server') {
        const account = { name: `new-${String(place)}`, asset: { code: 'USD', scale: 2 } }
        await callUnary(system.operator, 'createAccount', account, { idempotent: false })
      } else {
        const request = { client: system.shop.walletAddress, reason: String(place) }
        await callUnary(system.grantOperator, 'freezeClient', request, { idempotent: true })
      }
    }
    const page = (filter: Partial<operators.ListOperatorActionsRequest>) =>
      callUnary(
        system.actions[service],
        'listOperatorActions',
        operators.ListOperatorActionsRequest.fromPartial({ pageSize: PAGE_SIZE, ...filter }),
        READ
      )
    const idsInDatabase = async (condition: string): Promise<string[]> => {
      const rows = await database().query<{ id: string }>(`select id from operator_action where ${condition}`)
      return rows.map(({ id }) => id)
    }

    it.each<[string, Partial<operators.ListOperatorActionsRequest>, condition: string]>([
      ['all', {}, 'true'],
      ['those of an operator', { operator: 'machine-1' }, `operator = 'machine-1'`],
      ['those on a subject', { subject: 'grown-2' }, `subject = 'grown-2'`]
    ])(
      'lists %s by page, each once, while new ones come',
      async (_which, filter, condition) => {
        // What comes from now on is later than all there is.
        system.clock.advanceSeconds(1)
        const plans: PlanNode[] = []
        const before = await idsInDatabase(condition)
        const listed: operators.OperatorAction[] = []
        let pages = 0
        let pageToken = ''
        do {
          const explainer = explainStatements(pool(), { carriedOut: true })
          const answer = await page({ ...filter, pageToken })
          plans.push(...plansOf(explainer))
          explainer.stop()
          listed.push(...answer.actions)
          pageToken = answer.nextPageToken
          pages += 1
          await act(places())
        } while (pageToken !== '')
        expect(pages).toBeGreaterThan(5)
        expect(listed.map(({ id }) => id).toSorted()).toEqual(before.toSorted())
        const times = listed.map(({ actTime }) => actTime?.getTime() ?? NaN)
        expect(times).toEqual(times.toSorted((one, other) => other - one))
        // What came meanwhile is newer than where the list began: it is at the head of the next one.
        const after = await idsInDatabase(condition)
        expect(after.length).toBe(before.length + (condition === 'true' ? pages : 0))
        expect(plans).not.toEqual([])
        expect(plans.flatMap((plan) => findPlanFaults(plan, LIMITS))).toEqual([])
      },
      TIMEOUT_MS
    )

    it(
      'lists the proposals that are open without those that were decided',
      async () => {
        const explainer = explainStatements(pool(), { carriedOut: true })
        const state = operators.ProposalState.PROPOSAL_STATE_OPEN
        const request = { state, pageSize: PAGE_SIZE, pageToken: '' }
        const { proposals } = await callUnary(system.actions[service], 'listProposals', request, READ)
        const plans = plansOf(explainer)
        explainer.stop()
        expect(proposals).toHaveLength(OPEN_PROPOSALS)
        expect(plans).not.toEqual([])
        expect(plans.flatMap((plan) => findPlanFaults(plan, LIMITS))).toEqual([])
      },
      TIMEOUT_MS
    )

    /** The plans of statements that list. */
    function plansOf({ failures, statements }: ReturnType<typeof explainStatements>) {
      expect(failures).toEqual([])
      return [...statements.values()]
        .filter(({ text }) =>
          /^\/\* list-(operator-actions|actions-(of|on)-[a-z]+|open-proposals)/.test(text)
        )
        .flatMap(({ plans }) => plans)
    }
  }
)

let place = 0
function places(): number {
  place += 1
  return place
}
