import { auth } from '@open-payments-server/proto'
import { describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { Command, Option } from 'commander'
import { limitOption, parseUrl, parseUuid } from '../arguments.js'
import { instantText } from '../output.js'
import type { RunSession } from '../session.js'

const STATES = {
  pending: auth.GrantState.GRANT_STATE_PENDING,
  approved: auth.GrantState.GRANT_STATE_APPROVED,
  issued: auth.GrantState.GRANT_STATE_ISSUED,
  rejected: auth.GrantState.GRANT_STATE_REJECTED,
  revoked: auth.GrantState.GRANT_STATE_REVOKED
} as const

type StateName = keyof typeof STATES

interface ListOptions {
  readonly walletAddress?: string
  readonly client?: string
  readonly state?: StateName
  readonly limit: number
}

/** `grant list|show|revoke` */
export function grantCommand(run: RunSession): Command {
  const grant = new Command('grant').description('what clients were allowed to do')

  grant
    .command('list')
    .description('list grants, newest first')
    .option('--wallet-address <url>', 'only those about this wallet address', parseUrl)
    .option('--client <url>', "only those of this client's wallet address", parseUrl)
    .addOption(new Option('--state <state>', 'only those in this state').choices(Object.keys(STATES)))
    .addOption(limitOption())
    .action((options: ListOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { walletAddress, limit } = options
        const state = options.state === undefined ? undefined : STATES[options.state]
        const { items, more } = await client.listGrants(
          { walletAddress, client: options.client, state },
          limit
        )
        print.list(items, {
          name: 'grants',
          more,
          columns: [
            ['Created', ({ createTime }) => instantText(createTime)],
            ['Grant', ({ grantId }) => grantId],
            ['State', (item) => stateName(item.state)],
            ['Client', (item) => clientName(item)],
            ['Access', ({ access }) => access.map(describeAccess).join('\n')]
          ],
          json: grantJson
        })
      })
    )

  grant
    .command('show')
    .description('show a grant, and what is spent under it in the interval that runs')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const found = await client.getGrant(id)
        const { consentedBy } = found
        print.facts({ ...found, grant: found.grant === undefined ? null : grantJson(found.grant) }, [
          ['Grant', id],
          ['State', found.grant === undefined ? '-' : stateName(found.grant.state)],
          ['Wallet address', found.walletAddress === '' ? '-' : found.walletAddress],
          ['Consented by', consentedBy === undefined ? '-' : `${consentedBy.sub} at ${consentedBy.issuer}`],
          ['Last used', instantText(found.lastUseTime)],
          ['Pays until', instantText(found.paymentEndTime)],
          ['Ends', instantText(found.endTime)],
          ['Paused since', instantText(found.pauseTime)],
          ...found.access.map(({ access, spentDebitAmount }): [string, string] => [
            access?.type ?? '-',
            spentDebitAmount === undefined
              ? 'nothing spent'
              : `spent ${describeAmount(parseAmount(spentDebitAmount))}`
          ])
        ])
      })
    )

  grant
    .command('revoke')
    .description('revoke a grant and all its tokens; repeating it has no effect')
    .argument('<grant-id>', 'its id', parseUuid)
    .action((grantId: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const revoked = await client.revokeGrant(grantId)
        print.result(grantJson(revoked), `Revoked the grant ${revoked.grantId} of ${clientName(revoked)}.`)
      })
    )
  return grant
}

function stateName(state: auth.GrantState): string {
  return Object.entries(STATES).find(([, candidate]) => candidate === state)?.[0] ?? 'unknown'
}

function clientName({ client }: auth.Grant): string {
  if (client === undefined) return '-'
  return client.walletAddress === '' ? `key ${client.jwkThumbprint}` : client.walletAddress
}

function describeAccess({ type, actions, identifier, limits }: auth.AccessItem): string {
  const lines = [`${type}: ${actions.join(', ')}`, identifier, ...describeLimits(limits)]
  return lines.filter((line) => line !== '').join('\n  ')
}

function describeLimits(limits: auth.Limits | undefined): string[] {
  if (limits === undefined) return []
  const { debitAmount, receiveAmount, interval, receiver } = limits
  return [
    debitAmount === undefined ? '' : `debits at most ${describeAmount(parseAmount(debitAmount))}`,
    receiveAmount === undefined ? '' : `delivers at most ${describeAmount(parseAmount(receiveAmount))}`,
    interval === '' ? '' : `in each of ${interval}`,
    receiver === '' ? '' : `to ${receiver}`
  ]
}

function grantJson(grant: auth.Grant): unknown {
  const { client } = grant
  return {
    id: grant.grantId,
    state: stateName(grant.state),
    client:
      client?.walletAddress === ''
        ? { jwkThumbprint: client.jwkThumbprint }
        : (client?.walletAddress ?? null),
    access: grant.access.map(accessJson),
    createdAt: grant.createTime ?? null,
    updatedAt: grant.updateTime ?? null
  }
}

/** The item as the HTTP interface writes it (interface 2.3). */
function accessJson({ type, actions, identifier, limits }: auth.AccessItem): unknown {
  return {
    type,
    actions,
    ...(identifier === '' ? {} : { identifier }),
    ...(limits === undefined
      ? {}
      : {
          limits: {
            ...(limits.receiver === '' ? {} : { receiver: limits.receiver }),
            ...(limits.interval === '' ? {} : { interval: limits.interval }),
            ...(limits.debitAmount === undefined ? {} : { debitAmount: limits.debitAmount }),
            ...(limits.receiveAmount === undefined ? {} : { receiveAmount: limits.receiveAmount })
          }
        })
  }
}
