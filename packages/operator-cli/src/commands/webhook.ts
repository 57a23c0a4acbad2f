import { events } from '@open-payments-server/proto'
import { Command, Option } from 'commander'
import { limitOption, parseInstant, parseUrl, parseUuid } from '../arguments.js'
import { EVENTFUL_SERVICES, type EventfulService } from '../eventful-service.js'
import { instantText, type Printer } from '../output.js'
import type { RunSession } from '../session.js'
import type { OperatorWebhookEndpoint } from '../webhook-client.js'

interface FilterOptions {
  readonly types?: readonly string[]
  readonly walletAddress?: string
}

interface CreateOptions extends FilterOptions {
  readonly service: EventfulService
  readonly secret?: string
}

interface UpdateOptions extends FilterOptions {
  readonly url?: string
  readonly allTypes?: boolean
  readonly allWalletAddresses?: boolean
  readonly enable?: boolean
}

const CAUSES: Readonly<Record<events.DisabledCause, string | undefined>> = {
  [events.DisabledCause.DISABLED_CAUSE_UNSPECIFIED]: undefined,
  [events.DisabledCause.DISABLED_CAUSE_OPERATOR]: 'operator',
  [events.DisabledCause.DISABLED_CAUSE_GONE]: 'gone',
  [events.DisabledCause.DISABLED_CAUSE_FAILING]: 'failing',
  [events.DisabledCause.UNRECOGNIZED]: 'unknown'
}

/** `webhook create|list|show|update|disable|delete|rotate-secret|test|attempts|replay` */
export function webhookCommand(run: RunSession): Command {
  const webhook = new Command('webhook').description('endpoints that events are posted to')
  addSettings(webhook, run)
  addEndings(webhook, run)
  addReads(webhook, run)
  addDeliveries(webhook, run)
  return webhook
}

function addSettings(webhook: Command, run: RunSession): void {
  webhook
    .command('create')
    .description('register an endpoint for what happens from now on; prints its secret, once')
    .argument('<url>', 'where events are posted')
    .addOption(
      new Option('--service <service>', 'whose events').choices(EVENTFUL_SERVICES).makeOptionMandatory()
    )
    .option('--types <types>', 'only these types, separated by commas', parseTypes)
    .option('--wallet-address <url>', 'only events that concern this wallet address', parseUrl)
    .option(
      '--secret <secret>',
      'what signs, whsec_ and 24 to 64 bytes in base64; drawn at random by default'
    )
    .action((url: string, options: CreateOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { service, types = [], walletAddress, secret } = options
        const created = await client.webhooks.create(service, { url, types, walletAddress, secret })
        print.result(
          { id: created.id, service, secret: created.secret },
          `Registered the endpoint ${created.id} of the ${service}. Its secret, which is not shown again: ${created.secret}`
        )
      })
    )
  webhook
    .command('update')
    .description('change an endpoint, or enable it again')
    .argument('<id>', 'its id', parseUuid)
    .option('--url <url>', 'where events are posted')
    .option('--types <types>', 'only these types, separated by commas', parseTypes)
    .option('--all-types', 'all types')
    .option('--wallet-address <url>', 'only events that concern this wallet address', parseUrl)
    .option('--all-wallet-addresses', 'events of all')
    .option('--enable', 'post events again, from where it was disabled')
    .action((id: string, options: UpdateOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const types = options.allTypes === true ? [] : options.types
        const changed = await client.webhooks.update(id, {
          url: options.url,
          eventTypes: types && { types: [...types] },
          walletAddress: options.allWalletAddresses === true ? '' : options.walletAddress,
          enable: options.enable ?? false
        })
        printEndpoint(print, changed)
      })
    )
  webhook
    .command('rotate-secret')
    .description('replace the secret of an endpoint; the one before signs too, for a day')
    .argument('<id>', 'its id', parseUuid)
    .option('--secret <secret>', 'the new one; drawn at random by default')
    .action((id: string, { secret }: { readonly secret?: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        const rotated = await client.webhooks.rotateSecret(id, secret)
        print.result({ id, secret: rotated }, `The new secret, which is not shown again: ${rotated}`)
      })
    )
}

function addEndings(webhook: Command, run: RunSession): void {
  webhook
    .command('disable')
    .description('post nothing more to an endpoint; repeating it has no effect')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        printEndpoint(print, await client.webhooks.disable(id))
      })
    )
  webhook
    .command('delete')
    .description('forget an endpoint, with the record of its attempts')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        await client.webhooks.delete(id)
        print.result({ id }, `Deleted the endpoint ${id}.`)
      })
    )
}

function addReads(webhook: Command, run: RunSession): void {
  webhook
    .command('list')
    .description('list endpoints')
    .addOption(new Option('--service <service>', 'only those of this service').choices(EVENTFUL_SERVICES))
    .action(({ service }: { readonly service?: EventfulService }, command: Command) =>
      run(command, async ({ client, print }) => {
        print.list(await client.webhooks.list(service), {
          name: 'endpoints',
          columns: [
            ['Endpoint', ({ id }) => id],
            ['Service', (endpoint) => endpoint.service],
            ['State', stateOf],
            ['URL', ({ url }) => url]
          ],
          json: endpointJson
        })
      })
    )
  webhook
    .command('show')
    .description('show an endpoint')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        printEndpoint(print, await client.webhooks.get(id))
      })
    )
  webhook
    .command('attempts')
    .description('list attempts to deliver to an endpoint, the newest first')
    .argument('<id>', 'its id', parseUuid)
    .addOption(limitOption())
    .action((id: string, { limit }: { readonly limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        print.list(await client.webhooks.attempts(id, limit), {
          name: 'attempts',
          columns: [
            ['Time', ({ attemptedAt }) => instantText(attemptedAt)],
            ['Type', ({ eventType }) => eventType],
            ['Answer', answerOf],
            ['Took', ({ durationMs }) => `${String(durationMs)} ms`, 'right'],
            ['Event', ({ eventId }) => eventId]
          ],
          json: attemptJson
        })
      })
    )
}

function addDeliveries(webhook: Command, run: RunSession): void {
  webhook
    .command('test')
    .description('post a test event to an endpoint at once')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const attempt = await client.webhooks.test(id)
        print.result(attemptJson(attempt), attemptText(attempt))
      })
    )
  webhook
    .command('replay')
    .description('deliver events again: those that were not delivered, or with --after all since then')
    .argument('<id>', 'its id', parseUuid)
    .option('--after <time>', 'all events that happened after this time (RFC 3339)', parseInstant)
    .action((id: string, { after }: { readonly after?: Date }, command: Command) =>
      run(command, async ({ client, print }) => {
        const count = await client.webhooks.replay(id, after)
        print.result(
          { id, events: Number(count) },
          `Delivers ${String(count)} events again, as far as they pass its filters.`
        )
      })
    )
}

function parseTypes(text: string): readonly string[] {
  return text.split(',').map((type) => type.trim())
}

function stateOf({ disabledCause }: events.WebhookEndpoint): 'enabled' | 'disabled' {
  return CAUSES[disabledCause] === undefined ? 'enabled' : 'disabled'
}

function printEndpoint(print: Printer, endpoint: OperatorWebhookEndpoint): void {
  const { disabledCause, disabledAt, failingSince } = endpoint
  const since =
    disabledAt === undefined ? '' : ` (${CAUSES[disabledCause] ?? ''}, ${instantText(disabledAt)})`
  print.facts(endpointJson(endpoint), [
    ['Endpoint', endpoint.id],
    ['Service', endpoint.service],
    ['URL', endpoint.url],
    ['Types', endpoint.types.length === 0 ? 'all' : endpoint.types.join(', ')],
    ['Wallet address', endpoint.walletAddress === '' ? 'all' : endpoint.walletAddress],
    ['State', `${stateOf(endpoint)}${since}`],
    ['Failing since', failingSince === undefined ? '-' : instantText(failingSince)],
    ['Undelivered', String(endpoint.undeliveredCount)],
    ['Given up', String(endpoint.givenUpCount)]
  ])
}

function endpointJson(endpoint: OperatorWebhookEndpoint): object {
  const { walletAddress, disabledAt, failingSince } = endpoint
  return {
    id: endpoint.id,
    service: endpoint.service,
    url: endpoint.url,
    types: endpoint.types,
    walletAddress: walletAddress === '' ? null : walletAddress,
    state: stateOf(endpoint),
    disabledCause: CAUSES[endpoint.disabledCause] ?? null,
    disabledAt: disabledAt === undefined ? null : instantText(disabledAt),
    failingSince: failingSince === undefined ? null : instantText(failingSince),
    undelivered: endpoint.undeliveredCount,
    givenUp: endpoint.givenUpCount,
    createdAt: instantText(endpoint.createdAt)
  }
}

function attemptJson(attempt: events.WebhookAttempt): object {
  return {
    eventId: attempt.eventId,
    type: attempt.eventType,
    attemptedAt: instantText(attempt.attemptedAt),
    durationMs: attempt.durationMs,
    status: attempt.status === 0 ? null : attempt.status,
    delivered: attempt.failure === '',
    failure: attempt.failure === '' ? null : attempt.failure
  }
}

function attemptText(attempt: events.WebhookAttempt): string {
  const { attemptedAt, eventType, durationMs, eventId } = attempt
  return `${instantText(attemptedAt)}  ${eventType}  ${answerOf(attempt)}  ${String(durationMs)} ms  ${eventId}`
}

/** The status, or why there is none. */
function answerOf({ status, failure }: events.WebhookAttempt): string {
  return status === 0 ? failure : String(status)
}
