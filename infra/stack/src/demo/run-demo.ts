import { setTimeout as delay } from 'node:timers/promises'
import { OpenPaymentsClientError } from '@interledger/open-payments'
import { RpcError } from '@open-payments-server/grpc-transport'
import { type Amount, describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { OperatorClient } from '@open-payments-server/operator-cli'
import pc from 'picocolors'
import { StackError, stackPaths } from '../stack/settings.js'
import { readStackFile, type StackFile } from '../stack/stack-file.js'
import { createShownClient } from './client.js'
import { createFollowPayment } from './follow-payment.js'
import { INCOMING_VALUE, payPayee } from './pay-payee.js'
import { Storyteller } from './printing.js'
import { type Provider, startProvider } from './webhook.js'

/** How long money may take to arrive, in milliseconds. */
const ARRIVAL_TIMEOUT_MS = 20_000

/** A step of the demo failed. */
class DemoFailed extends Error {
  override readonly name = 'DemoFailed'
}

/** What the demo does. */
export interface DemoOptions {
  /** Whether consent is given without a person. */
  readonly yes: boolean
  /** Whether somebody is paid who has their wallet at the second provider. */
  readonly across: boolean
  /** Name of the wallet that is paid; undefined for bob's, or across for dora's. */
  readonly to: string | undefined
}

/**
 * Shows a payment from consent to received money against the running stack.
 *
 * @returns the exit status: 0 when the money arrived, 1 otherwise
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  try {
    await tell(await readStackFile(stackPaths(process.env).stackFile), options)
    return 0
  } catch (error) {
    process.stderr.write(`\n  ${pc.red('✗')} ${explain(error)}\n\n`)
    return 1
  }
}

/** Whom to pay, and who operates that wallet. */
interface Receiving {
  /** Name of the account. */
  readonly name: string
  readonly walletAddress: string
  readonly provider: Pick<StackFile, 'authGrpc' | 'resourceGrpc'>
}

/** @throws DemoFailed when there is no such wallet */
function receivingOf(stack: StackFile, { across, to }: Pick<DemoOptions, 'across' | 'to'>): Receiving {
  const provider = across ? stack.secondProvider : stack
  if (provider === undefined) {
    throw new DemoFailed('There is one provider only. Start two: npm start -- --providers 2')
  }
  const walletAddresses = new Map(Object.entries(provider.walletAddresses))
  const name = to ?? (across ? 'dora' : 'bob')
  const walletAddress = walletAddresses.get(name)
  if (walletAddress === undefined) {
    throw new DemoFailed(`${name} has no wallet there. These have: ${[...walletAddresses.keys()].join(', ')}`)
  }
  return { name, walletAddress, provider }
}

async function tell(stack: StackFile, { yes, across, to }: DemoOptions): Promise<void> {
  const story = new Storyteller()
  const { name: payeeName, walletAddress, provider: receiving } = receivingOf(stack, { across, to })
  const operator = new OperatorClient({ auth: stack.authGrpc, wallet: stack.resourceGrpc })
  const other = new OperatorClient({ auth: receiving.authGrpc, wallet: receiving.resourceGrpc })
  const readBalances = async (): Promise<readonly [Amount, Amount]> => [
    await readBalance(operator, 'alice'),
    await readBalance(other, payeeName)
  ]
  let provider: Provider | undefined
  try {
    const before = await readBalances()
    const payee = {
      name: `${payeeName.slice(0, 1).toUpperCase()}${payeeName.slice(1)}`,
      walletAddress,
      amount: describeAmount({ ...before[1], value: BigInt(INCOMING_VALUE) })
    }
    const where = across ? ', who has a wallet at another provider,' : ''
    process.stdout.write(
      `\n  ${pc.bold(`A shop pays ${payeeName}${where} ${payee.amount} from alice’s wallet, with her consent`)}\n`
    )
    provider = await startProvider(other, walletAddress)
    const client = await createShownClient(stack.client, story)
    const followPayment = createFollowPayment(stack.client, story, ARRIVAL_TIMEOUT_MS)
    const { id, receivedAmount } = await payPayee({ client, stack, story, yes, followPayment, payee })
    const after = await readBalances()

    story.step(
      'A webhook',
      `${payee.name}’s provider registered an endpoint for what ${payeeName} receives. It is told, too.`
    )
    const told = await inTime(provider.told(id))
    story.note(`${pc.cyan(told.type)} ${told.subject}`)
    story.note(`${pc.green('✓')} event ${told.id}, and the signature proves who sent it`)

    story.step('Balances', 'As the operators see them, before and after.')
    for (const [name, old, now] of [
      ['alice', before[0], after[0]],
      [payeeName, before[1], after[1]]
    ] as const) {
      const [was, is] = [old, now].map((amount) => describeAmount(amount).padStart(16))
      story.note(`${name.padEnd(6)} ${String(was)}  →  ${pc.bold(String(is))}`)
    }
    const received = describeAmount(parseAmount(receivedAmount))
    process.stdout.write(`\n  ${pc.green('✓')} ${pc.bold(`${payee.name} has received ${received}.`)}\n\n`)
  } finally {
    await provider?.stop()
    operator.close()
    other.close()
  }
}

async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const late = delay(ARRIVAL_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new DemoFailed('the webhook did not arrive in time')
  })
  return Promise.race([promise, late])
}

async function readBalance(operator: OperatorClient, name: string): Promise<Amount> {
  const account = await operator.findAccount(name)
  if (account === undefined)
    throw new DemoFailed(`there is no account ${name}: run \`npm run reset\` and start again`)
  return account.available
}

function explain(error: unknown): string {
  if (error instanceof OpenPaymentsClientError) {
    const status =
      error.status === undefined ? '' : ` (${[error.status, error.code].filter(Boolean).join(' ')})`
    const violations = (error.validationErrors ?? []).map((violation) => `\n      ${violation}`)
    return `${error.description}${status}${violations.join('')}`
  }
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return 'The money did not arrive in time.'
  if (error instanceof RpcError) return 'The stack does not answer. Is `npm start` still running?'
  if (error instanceof StackError || error instanceof DemoFailed) return error.message
  return error instanceof Error ? error.message : String(error)
}
