import { isRpcError, status } from '@open-payments-server/grpc-transport'
import { type Asset, describeAmount, isSameAsset } from '@open-payments-server/value-types/amounts'
import { type Command, InvalidArgumentError } from 'commander'
import { CommandError } from '../command-error.js'
import { amountCell, balanceCell, instantText, type Printer } from '../output.js'
import type { PeerClient } from '../peer-client.js'
import {
  type PeerBalance,
  type PeerEntryKind,
  type PeerStatement,
  peerStatementCsv,
  type PeerStatementEntry,
  peerStatementJson,
  readPeerStatementFile
} from '../peer-statement.js'
import {
  type DayEntries,
  type DayNote,
  type Difference,
  isSettlement,
  MIDNIGHT_MINUTES,
  reconcile,
  type Reconciliation,
  type RepeatedReference
} from '../reconcile.js'
import type { BalanceDifference, DayBook } from '../reconcile-balances.js'
import type { RunSession } from '../session.js'

/** Exit status of a reconciliation that found differences. */
export const EXIT_DIFFERENCES = 1
const DAY_MS = 86_400_000

const ENTRY_WORDS: Readonly<Record<PeerEntryKind, string>> = {
  received: 'received packet',
  sent: 'sent packet',
  settlement_received: 'received settlement',
  settlement_sent: 'sent settlement'
}

/** A reconciliation found differences, which were already printed. */
export class DifferencesFound extends Error {
  override readonly name = 'DifferencesFound'
}

interface StatementOptions {
  readonly date: string
  readonly csv?: boolean
}

/** Adds `peer statement` and `peer reconcile`. */
export function addStatements(peer: Command, run: RunSession): void {
  peer
    .command('statement')
    .description('what was owed when a day began and ended, and all that changed it')
    .argument('<name>', 'name of the peer')
    .requiredOption('--date <day>', 'day in UTC, such as 2026-11-24', parseDay)
    .option('--csv', 'print CSV (RFC 4180)')
    .action((name: string, { date, csv }: StatementOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        if (csv === true && print.isJson) throw new CommandError('give either --json or --csv', 'csv')
        const statement = await client.peers.statement(name, date)
        if (csv === true) print.file(peerStatementCsv(statement))
        else printStatement(print, statement)
      })
    )
  peer
    .command('reconcile')
    .description("compare the statements of a peer with this side's, and name every difference")
    .argument('<name>', 'name of the peer')
    .requiredOption(
      '--statement <file...>',
      "the peer's statements, one of each day, JSON or CSV as `peer statement` prints them"
    )
    .addHelpText(
      'after',
      `\nAn entry may be on the day before or after with this side if it is within ${String(MIDNIGHT_MINUTES)} minutes of midnight, or if` +
        '\nthe statement of that day is given, too.' +
        '\nExit status: 0 nothing differs, 1 something differs, or the command failed.'
    )
    .action((name: string, { statement: files }: { readonly statement: string[] }, command: Command) =>
      run(command, async ({ client, print }) => {
        const theirs = await readStatements(files)
        const { asset, ours, oursNearby, daysNotOver } = await readOurs(client.peers, name, theirs)
        const result = reconcile({ ours, oursNearby, theirs })
        const dates = theirs.map(({ date }) => date)
        const early = { daysNotOver, theirsEarly: datesOf(theirs.filter(({ isComplete }) => !isComplete)) }
        const json = reconciliationJson({ peer: name, dates }, result, early)
        print.result(json, describeReconciliation(result, early, asset))
        if (countOf(result) > 0) throw new DifferencesFound()
      })
    )
}

function parseDay(text: string): string {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(NaN)
  if (Number.isNaN(day.getTime()) || dayOf(day) !== text)
    throw new InvalidArgumentError('Expected a day such as 2026-11-24.')
  return text
}

function printStatement(print: Printer, statement: PeerStatement): void {
  const { asset } = statement
  const owed = ({ receivable, payable }: PeerBalance): string =>
    `owes ${balanceCell({ value: receivable, asset })}, is owed ${balanceCell({ value: payable, asset })}`
  print.report(peerStatementJson(statement), {
    facts: [
      ['Peer', statement.peer],
      ['ILP address', statement.ilpAddress ?? '-'],
      ['Date', statement.isComplete ? statement.date : `${statement.date}, which is not over`],
      ['Opening', owed(statement.opening)],
      ['Closing', owed(statement.closing)],
      ['Entries', String(statement.entries.length)]
    ],
    items: statement.entries,
    columns: [
      ['Booked', ({ bookedAt }) => instantText(bookedAt)],
      ['Kind', ({ kind }) => kind],
      ['Value', ({ value }) => amountCell({ value, asset }), 'right'],
      ['Condition or reference', ({ identifier }) => identifier],
      ['Payment', ({ payment }) => payment ?? '-']
    ]
  })
}

/** @returns in the order of their dates */
async function readStatements(files: readonly string[]): Promise<readonly PeerStatement[]> {
  const byDate = new Map<string, { readonly file: string; readonly statement: PeerStatement }>()
  for (const file of files) {
    const statement = await readPeerStatementFile(file)
    const other = byDate.get(statement.date)
    if (other !== undefined) {
      throw new CommandError(
        `the statements ${other.file} and ${file} are both of ${statement.date}`,
        'statement'
      )
    }
    byDate.set(statement.date, { file, statement })
  }
  const statements = [...byDate.values()].map(({ statement }) => statement)
  return statements.sort((one, another) => (one.date < another.date ? -1 : 1))
}

function countOf({ differences, balances }: Reconciliation): number {
  return differences.length + balances.length
}

/** What this side booked on a day, or until now if it is not over. */
type OurDay = DayEntries & Pick<PeerStatement, 'isComplete'>

/** Days of which only a part is compared. */
interface EarlyDays {
  /** Days that are not over here. */
  readonly daysNotOver: readonly string[]
  /** Days that were not over when the other side made its statement. */
  readonly theirsEarly: readonly string[]
}

/** What this side booked on the days of the other side's statements, and on the days around them. */
async function readOurs(
  peers: PeerClient,
  name: string,
  theirs: readonly PeerStatement[]
): Promise<{
  readonly asset: Asset
  readonly ours: readonly DayBook[]
  readonly oursNearby: readonly DayEntries[]
  readonly daysNotOver: readonly string[]
}> {
  const { asset } = await peers.show(name)
  for (const statement of theirs) assertSameAsset(name, asset, statement)
  const ours: DayBook[] = []
  for (const { date } of theirs) ours.push(await peers.statement(name, date))
  const oursNearby: OurDay[] = []
  for (const date of daysAround(datesOf(theirs))) {
    const day = await entriesIfBegun(peers, name, date)
    if (day !== undefined) oursNearby.push({ date, ...day })
  }
  const daysNotOver = datesOf([...ours, ...oursNearby].filter(({ isComplete }) => !isComplete))
  return { asset, ours, oursNearby, daysNotOver }
}

function assertSameAsset(peer: string, ours: Asset, { asset: theirs, date }: PeerStatement): void {
  if (isSameAsset(ours, theirs)) return
  const [expected, given] = [ours, theirs].map(({ code, scale }) => `${code}/${String(scale)}`)
  throw new CommandError(
    `the statement of ${date} is in ${String(given)}, and the peer ${peer} in ${String(expected)}`,
    'statement'
  )
}

/** The days before and after some days, without those themselves. */
function daysAround(dates: readonly string[]): readonly string[] {
  const neighbours = dates.flatMap((date) => {
    const startMs = Date.parse(`${date}T00:00:00Z`)
    return [dayOf(new Date(startMs - DAY_MS)), dayOf(new Date(startMs + DAY_MS))]
  })
  return [...new Set(neighbours)].filter((date) => !dates.includes(date))
}

function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}

function datesOf(days: readonly { readonly date: string }[]): readonly string[] {
  return days.map(({ date }) => date)
}

/** @returns undefined for a day that has not begun */
async function entriesIfBegun(
  peers: PeerClient,
  name: string,
  date: string
): Promise<Omit<OurDay, 'date'> | undefined> {
  try {
    return await peers.entries(name, date)
  } catch (error) {
    if (isRpcError(error, status.FAILED_PRECONDITION)) return undefined
    throw error
  }
}

function reconciliationJson(
  { peer, dates }: { readonly peer: string; readonly dates: readonly string[] },
  { matchedCount, differences, balances, notes, repeated }: Reconciliation,
  { daysNotOver, theirsEarly }: EarlyDays
): unknown {
  return {
    peer,
    dates,
    matched: matchedCount,
    differences: [
      ...differences.map(({ kind, entryKind, identifier, ours, theirs }) => ({
        kind,
        entryKind,
        identifier,
        ours: ours?.value ?? null,
        theirs: theirs?.value ?? null,
        oursBookedAt: ours?.bookedAt ?? null,
        theirsBookedAt: theirs?.bookedAt ?? null,
        payment: ours?.payment ?? null
      })),
      ...balances.map((balance) => ({ kind: 'balance_differs', ...balance }))
    ],
    notes: [
      ...notes.map((note) => ({ kind: 'booked_on_another_day', ...note })),
      ...repeated.map((reference) => ({ kind: 'reference_repeated', ...reference })),
      ...daysNotOver.map((date) => ({ kind: 'day_not_over', date })),
      ...theirsEarly.map((date) => ({ kind: 'their_statement_not_complete', date }))
    ]
  }
}

function describeReconciliation(
  result: Reconciliation,
  { daysNotOver, theirsEarly }: EarlyDays,
  asset: Asset
): string {
  const { matchedCount, differences, balances, notes, repeated } = result
  const count = countOf(result)
  const found = count === 1 ? '1 difference' : `${String(count)} differences`
  return [
    ...differences.map((difference) => describeDifference(difference, asset)),
    ...balances.map((difference) => describeBalance(difference, asset)),
    ...notes.map(describeNote),
    ...repeated.map(describeRepeated),
    ...daysNotOver.map((date) => `note: ${date} is not over: what is booked later is not compared yet`),
    ...theirsEarly.map(
      (date) => `note: their statement was made before ${date} was over: what they booked later is not in it`
    ),
    `${String(matchedCount)} entries match, ${count === 0 ? 'nothing differs' : found}.`
  ].join('\n')
}

function describeDifference({ entryKind, identifier, ours, theirs }: Difference, asset: Asset): string {
  const what = `${ENTRY_WORDS[entryKind]} ${onOneLine(identifier)}`
  const booked = ({ value, bookedAt }: PeerStatementEntry): string =>
    `${describeAmount({ value, asset })}, booked ${instantText(bookedAt)}`
  if (ours !== undefined && theirs !== undefined)
    return `value differs: ${what}: with us ${booked(ours)}; with them ${booked(theirs)}`
  if (ours !== undefined) return `only with us: ${what}: ${booked(ours)}`
  return theirs === undefined ? what : `only with them: ${what}: ${booked(theirs)}`
}

function describeBalance(
  { date, moment, balance, expected, by, theirs }: BalanceDifference,
  asset: Asset
): string {
  const what = balance === 'receivable' ? 'what it owed' : 'what it was owed'
  const when = `as ${date} ${moment === 'opening' ? 'began' : 'ended'}`
  const [must, is] = [expected, theirs].map((value) => describeAmount({ value, asset }))
  return by === 'ours'
    ? `balance differs: ${what} ${when}: with us ${String(must)}; with them ${String(is)}`
    : `balance differs: ${what} ${when}: ${String(is)}, they say; what it began with and what they booked make ${String(must)}`
}

function describeNote({ entryKind, identifier, oursDate, theirsDate }: DayNote): string {
  const noun = isSettlement(entryKind) ? 'the settlement' : 'the packet'
  return `note: ${noun} ${onOneLine(identifier)} is booked on ${oursDate} with us, on ${theirsDate} with them`
}

function describeRepeated({ by, entryKind, identifier, dates }: RepeatedReference): string {
  const times = `${String(dates.length)} times ${by === 'ours' ? 'with us' : 'with them'}`
  return `note: ${ENTRY_WORDS[entryKind]} ${onOneLine(identifier)} is booked ${times}: on ${dates.join(', ')}`
}

/** The other side chose it: it must not look like a line of its own. */
function onOneLine(identifier: string): string {
  return identifier.replaceAll('\n', '\\n')
}
