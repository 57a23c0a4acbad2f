import { setTimeout as delay } from 'node:timers/promises'
import { OpenPaymentsClientError } from '@interledger/open-payments'
import { RpcError } from '@open-payments-server/grpc-transport'
import { describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { OperatorClient } from '@open-payments-server/operator-cli'
import pc from 'picocolors'
import { StackError, stackPaths } from '../stack/settings.js'
import { readStackFile, type StackFile } from '../stack/stack-file.js'
import { createShownClient } from './client.js'
import { createFollowPayment } from './follow-payment.js'
import { payBob } from './pay-bob.js'
import { Storyteller } from './printing.js'
import { type Provider, startProvider } from './webhook.js'

/** How long money may take to arrive, in milliseconds. */
const ARRIVAL_TIMEOUT_MS = 20_000

/** A step of the demo failed. */
class DemoFailed extends Error {
  override readonly name = 'DemoFailed'
}

/**
 * Shows a payment from consent to received money against the running stack.
 *
 * @param options.yes whether consent is given without a person
 * @returns the exit status: 0 when bob was paid, 1 otherwise
 */
export async function runDemo(options: { yes: boolean }): Promise<number> {
  try {
    await tell(await readStackFile(stackPaths(process.env).stackFile), options.yes)
    return 0
  } catch (error) {
    process.stderr.write(`\n  ${pc.red('✗')} ${explain(error)}\n\n`)
    return 1
  }
}

async function tell(stack: StackFile, yes: boolean): Promise<void> {
  const story = new Storyteller()
  const operator = new OperatorClient({ auth: stack.authGrpc, wallet: stack.resourceGrpc })
  let provider: Provider | undefined
  try {
    process.stdout.write(
      `\n  ${pc.bold('A shop pays bob 10.00 USD from alice’s wallet, with her consent')}\n`
    )
    const before = await readBalances(operator)
    provider = await startProvider(operator, stack.walletAddresses.bob)
    const client = await createShownClient(stack.client, story)
    const followPayment = createFollowPayment(stack.client, story, ARRIVAL_TIMEOUT_MS)
    const { id, receivedAmount } = await payBob({ client, stack, story, yes, followPayment })
    const after = await readBalances(operator)

    story.step('A webhook', 'Bob’s provider registered an endpoint for what he receives. It is told, too.')
    const told = await inTime(provider.told(id))
    story.note(`${pc.cyan(told.type)} ${told.subject}`)
    story.note(`${pc.green('✓')} event ${told.id}, and the signature proves who sent it`)

    story.step('Balances', 'As the operator sees them, before and after.')
    for (const name of ['alice', 'bob'] as const) {
      story.note(`${name.padEnd(6)} ${before[name].padStart(16)}  →  ${pc.bold(after[name].padStart(16))}`)
    }
    const received = describeAmount(parseAmount(receivedAmount))
    process.stdout.write(`\n  ${pc.green('✓')} ${pc.bold(`Bob has received ${received}.`)}\n\n`)
  } finally {
    await provider?.stop()
    operator.close()
  }
}

async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const late = delay(ARRIVAL_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new DemoFailed('the webhook did not arrive in time')
  })
  return Promise.race([promise, late])
}

async function readBalances(operator: OperatorClient): Promise<{ alice: string; bob: string }> {
  const [alice, bob] = await Promise.all(
    ['alice', 'bob'].map(async (name) => {
      const account = await operator.findAccount(name)
      if (account === undefined)
        throw new DemoFailed(`there is no account ${name}: run \`npm run reset\` and start again`)
      return describeAmount(account.balance)
    })
  )
  return { alice: alice ?? '', bob: bob ?? '' }
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
