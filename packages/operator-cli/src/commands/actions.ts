import { operators } from '@open-payments-server/proto'
import { Command } from 'commander'
import type { ActFilter, RecordedAct } from '../action-client.js'
import { limitOption, parseInstant } from '../arguments.js'
import { textOf } from '../messages.js'
import { instantText } from '../output.js'
import type { RunSession } from '../session.js'

interface ListOptions {
  readonly subject?: string
  readonly by?: string
  readonly since?: Date
  readonly until?: Date
  readonly limit: number
}

const OUTCOMES: Readonly<Record<operators.ActionOutcome, string | undefined>> = {
  [operators.ActionOutcome.ACTION_OUTCOME_UNSPECIFIED]: undefined,
  [operators.ActionOutcome.ACTION_OUTCOME_DONE]: 'done',
  [operators.ActionOutcome.ACTION_OUTCOME_UNCHANGED]: 'unchanged',
  [operators.ActionOutcome.ACTION_OUTCOME_REFUSED]: 'refused',
  [operators.ActionOutcome.ACTION_OUTCOME_PROPOSED]: 'proposed',
  [operators.ActionOutcome.UNRECOGNIZED]: 'unknown'
}

/** `actions list` */
export function actionsCommand(run: RunSession): Command {
  const actions = new Command('actions').description('what operators did in both services')
  actions
    .command('list')
    .description('list what operators did, the newest first; --json tells all of it')
    .option('--subject <subject>', 'only acts on this: the name of an account, a URL, an id')
    .option('--by <operator>', 'only acts of this operator: "SUB at ISSUER", or the names of a machine')
    .option('--since <time>', 'only acts of this time or later (RFC 3339)', parseInstant)
    .option('--until <time>', 'only acts before this time (RFC 3339)', parseInstant)
    .addOption(limitOption())
    .action(({ limit, ...options }: ListOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const filter: ActFilter = {
          operator: options.by ?? '',
          subject: options.subject ?? '',
          fromTime: options.since,
          toTime: options.until
        }
        const { items, more } = await client.actions.listActions(filter, limit)
        print.list(items, {
          name: 'acts',
          more,
          columns: [
            ['When', ({ actTime }) => instantText(actTime)],
            ['Who', ({ operator, approvedBy }) => describeBoth(operator, approvedBy)],
            ['What', ({ method }) => methodName(method)],
            [
              'On',
              ({ subjectKind, subject }) => (subject === '' ? subjectKind : `${subjectKind} ${subject}`)
            ],
            [
              'Outcome',
              ({ outcome, problem }) => [OUTCOMES[outcome] ?? 'not ended', problem].filter(Boolean).join(': ')
            ],
            ['Reason', ({ reason }) => reason]
          ],
          json: actJson
        })
      })
    )
  return actions
}

/** The name of a method without its service. */
export function methodName(method: string): string {
  return method.slice(method.lastIndexOf('/') + 1)
}

/** Who operates, in words. */
export function describeOperator(operator: operators.Operator | undefined): string {
  if (operator === undefined) return '-'
  const { issuer, sub, name, machine } = operator
  if (machine !== '') return machine
  return `${sub} at ${issuer}${name === '' ? '' : ` (${name})`}`
}

/** Who operates, for programs; null for nobody. */
export function operatorJson(operator: operators.Operator | undefined): unknown {
  if (operator === undefined) return null
  const { issuer, sub, name, machine } = operator
  return machine === '' ? { issuer, sub, name } : { machine }
}

/** JSON in a message; null for none. */
export function jsonOf(text: string): unknown {
  return text === '' ? null : (JSON.parse(text) as unknown)
}

function describeBoth(one: operators.Operator | undefined, other: operators.Operator | undefined): string {
  return other === undefined
    ? describeOperator(one)
    : `${describeOperator(one)}, approved by ${describeOperator(other)}`
}

function actJson(act: RecordedAct): unknown {
  return {
    id: act.id,
    service: act.service,
    operator: operatorJson(act.operator),
    role: act.role,
    method: act.method,
    subjectKind: act.subjectKind,
    subject: act.subject,
    request: jsonOf(act.request),
    before: jsonOf(act.before),
    after: jsonOf(act.after),
    reason: textOf(act.reason) ?? null,
    actedAt: act.actTime ?? null,
    completedAt: act.completeTime ?? null,
    outcome: OUTCOMES[act.outcome] ?? null,
    problem: textOf(act.problem) ?? null,
    proposalId: textOf(act.proposalId) ?? null,
    approvedBy: operatorJson(act.approvedBy)
  }
}
