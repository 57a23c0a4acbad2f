import { readFile } from 'node:fs/promises'
import { type Asset, ASSET_CODE_LENGTH_MAX, ASSET_SCALE_MAX } from '@open-payments-server/value-types/amounts'
import { z } from 'zod'
import { CommandError } from './command-error.js'
import { CsvError, formatCsv, parseCsv } from './csv.js'

/**
 * What entries of a statement record. `received`: a packet that the peer sent, and that was credited here. `sent`: a packet that
 * went to the peer. `settlement_received`: the peer paid. `settlement_sent`: this provider paid the peer.
 */
export const PEER_ENTRY_KINDS = ['received', 'sent', 'settlement_received', 'settlement_sent'] as const

/** What an entry of a statement records. */
export type PeerEntryKind = (typeof PEER_ENTRY_KINDS)[number]

/** An entry of a statement. */
export interface PeerStatementEntry {
  readonly kind: PeerEntryKind
  /** Of a packet: its execution condition in base64url, which both sides know. Of a settlement: its reference. */
  readonly identifier: string
  /** In the smallest unit of the statement's asset. */
  readonly value: bigint
  readonly bookedAt: Date
  /** Of a packet: URL of the payment that it was for, where that is known. */
  readonly payment: string | undefined
  /** Of a packet that was received: what it was fulfilled with, in base64url, where that is kept. It proves to its sender that it arrived. */
  readonly fulfillment?: string | undefined
}

/** What was owed at a time, in the smallest unit of the statement's asset. Below 0 where it was paid in advance. */
export interface PeerBalance {
  /** What the peer owed. */
  readonly receivable: bigint
  /** What was owed to the peer. */
  readonly payable: bigint
}

/** What was owed between a provider and its peer on a day, and what changed it. */
export interface PeerStatement {
  /** Name that whoever made the statement has for the peer. */
  readonly peer: string
  readonly asset: Asset
  /** ILP address of the peer, where it is known. */
  readonly ilpAddress: string | undefined
  /** Day in UTC, such as `2026-11-24`. */
  readonly date: string
  /** Whether the day was over when the statement was made. */
  readonly isComplete: boolean
  /** When the day began. */
  readonly opening: PeerBalance
  /** When it ended, or when the statement was made if that was before. */
  readonly closing: PeerBalance
  /** In the order of booking. */
  readonly entries: readonly PeerStatementEntry[]
}

/** The columns of the CSV form. The first row has the kind `opening`, the last one `closing`, and those between are entries. */
const COLUMNS = [
  'peer',
  'assetCode',
  'assetScale',
  'ilpAddress',
  'date',
  'kind',
  'identifier',
  'value',
  'bookedAt',
  'payment',
  'receivable',
  'payable',
  'complete',
  'fulfillment'
] as const

/** The columns that a statement of an earlier version does not have. */
const NEW_COLUMNS: readonly string[] = ['complete', 'fulfillment'] satisfies Column[]

type Column = (typeof COLUMNS)[number]

/** The columns that are the same in every row of a statement. */
const COMMON_COLUMNS = ['peer', 'assetCode', 'assetScale', 'ilpAddress', 'date', 'complete'] as const

const valueSchema = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,37})$/, 'must be a whole number from 0, as a text')
  .transform(BigInt)
const totalSchema = z
  .string()
  .regex(/^(?:0|-?[1-9]\d{0,37})$/, 'must be a whole number, as a text')
  .transform(BigInt)
const textOrNone = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined)
const entrySchema = z.object({
  kind: z.enum(PEER_ENTRY_KINDS),
  identifier: z.string().min(1),
  value: valueSchema,
  bookedAt: z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
  payment: textOrNone,
  fulfillment: textOrNone
})
const balanceSchema = z.object({ receivable: totalSchema, payable: totalSchema })
const assetCodeSchema = z.string().min(1).max(ASSET_CODE_LENGTH_MAX)
const statementSchema = z.object({
  peer: z.string(),
  asset: z.object({ code: assetCodeSchema, scale: z.int().min(0).max(ASSET_SCALE_MAX) }),
  ilpAddress: textOrNone,
  date: z.iso.date(),
  // Before it was told, there were statements of days that were over only.
  complete: z.boolean().default(true),
  opening: balanceSchema,
  closing: balanceSchema,
  entries: z.array(entrySchema)
})
const emptyAsNone = z.string().transform((text) => (text === '' ? undefined : text))
const commonRowSchema = z.object({
  peer: z.string(),
  assetCode: assetCodeSchema,
  assetScale: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().max(ASSET_SCALE_MAX)),
  ilpAddress: emptyAsNone,
  date: z.iso.date(),
  // Spreadsheets write it in capitals.
  complete: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false']))
    .default('true')
    .transform((text) => text === 'true')
})
const entryRowSchema = entrySchema.extend({ payment: emptyAsNone, fulfillment: emptyAsNone.optional() })

/**
 * The JSON form of a statement: values are decimal strings, times are ISO 8601 in UTC, and what is not known is left out.
 * {@link readPeerStatement} reads it.
 */
export function peerStatementJson(statement: PeerStatement): unknown {
  const { peer, asset, ilpAddress, date, isComplete, opening, closing, entries } = statement
  return {
    peer,
    asset: { code: asset.code, scale: asset.scale },
    ...(ilpAddress === undefined ? {} : { ilpAddress }),
    date,
    complete: isComplete,
    opening: balanceJson(opening),
    closing: balanceJson(closing),
    entries: entries.map(({ kind, identifier, value, bookedAt, payment, fulfillment }) => ({
      kind,
      identifier,
      value: value.toString(),
      bookedAt: bookedAt.toISOString(),
      ...(payment === undefined ? {} : { payment }),
      ...(fulfillment === undefined ? {} : { fulfillment })
    }))
  }
}

function balanceJson({ receivable, payable }: PeerBalance): unknown {
  return { receivable: receivable.toString(), payable: payable.toString() }
}

/**
 * The CSV form of a statement (RFC 4180): a row of names, a row of the kind `opening` with what was owed, a row for each entry, and
 * a row of the kind `closing`. Every row names the peer, the asset and the day, and whether that was over. {@link readPeerStatement} reads it.
 */
export function peerStatementCsv(statement: PeerStatement): string {
  const { asset, opening, closing, entries } = statement
  const common = {
    peer: statement.peer,
    assetCode: asset.code,
    assetScale: String(asset.scale),
    ilpAddress: statement.ilpAddress ?? '',
    date: statement.date,
    complete: String(statement.isComplete)
  }
  const balanceRow = (kind: string, { receivable, payable }: PeerBalance): Cells => ({
    ...common,
    kind,
    receivable: receivable.toString(),
    payable: payable.toString()
  })
  const entryRows = entries.map((entry): Cells => ({
    ...common,
    kind: entry.kind,
    identifier: entry.identifier,
    value: entry.value.toString(),
    bookedAt: entry.bookedAt.toISOString(),
    payment: entry.payment ?? '',
    fulfillment: entry.fulfillment ?? ''
  }))
  const rows = [balanceRow('opening', opening), ...entryRows, balanceRow('closing', closing)]
  return formatCsv([COLUMNS, ...rows.map((row) => COLUMNS.map((column) => row[column] ?? ''))])
}

/**
 * Reads a file with a statement, in its JSON or its CSV form.
 *
 * @throws CommandError naming the file, and the line or field that is wrong
 */
export async function readPeerStatementFile(file: string): Promise<PeerStatement> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`the statement ${file} cannot be read: ${reason}`, 'statement')
  }
  return readPeerStatement(decode(bytes, file), file)
}

/**
 * Reads a statement, in its JSON or its CSV form.
 *
 * @param file its name, for errors
 * @throws CommandError naming the file, and the line or field that is wrong
 */
export function readPeerStatement(text: string, file: string): PeerStatement {
  return text.trimStart().startsWith('{') ? readJson(text, file) : readCsv(text, file)
}

/** Without the byte order mark that spreadsheets write. */
function decode(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw malformed(file, 'is not UTF-8')
  }
}

function readJson(text: string, file: string): PeerStatement {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw malformed(file, `is not JSON${positionIn(text, error)}`)
  }
  const { complete, ...statement } = check(statementSchema, document, (problem, path) =>
    malformed(file, `has a wrong ${fieldName(path)}: ${problem}`)
  )
  return { ...statement, isComplete: complete }
}

/** The message of the error quotes the text, which must not reach the terminal as it is: only its position is told. */
function positionIn(text: string, error: unknown): string {
  const [, position] = /at position (\d+)/.exec(error instanceof Error ? error.message : '') ?? []
  if (position === undefined) return ''
  return `: line ${String(text.slice(0, Number(position)).split('\n').length)} is wrong`
}

/** Such as `entries[3].value`. */
function fieldName(path: readonly PropertyKey[]): string {
  const names = path.map((key) => (typeof key === 'number' ? `[${String(key)}]` : `.${String(key)}`))
  return names.join('').replace(/^\./, '') || 'document'
}

type Cells = Readonly<Partial<Record<Column, string>>>

interface Row {
  readonly line: number
  readonly cells: Cells
}

function readCsv(text: string, file: string): PeerStatement {
  const rows = readRows(text, file)
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || first.cells.kind !== 'opening')
    throw malformed(file, 'has no row of the kind "opening" after that of the names')
  if (last?.cells.kind !== 'closing')
    throw malformed(file, 'does not end with a row of the kind "closing": it may be cut off')
  const common = checkRow(commonRowSchema, first, file)
  for (const row of rows) assertSameStatement(first, row, file)
  return {
    peer: common.peer,
    asset: { code: common.assetCode, scale: common.assetScale },
    ilpAddress: common.ilpAddress,
    date: common.date,
    isComplete: common.complete,
    opening: checkRow(balanceSchema, first, file),
    closing: checkRow(balanceSchema, last, file),
    entries: rows.slice(1, -1).map((row) => checkRow(entryRowSchema, row, file))
  }
}

function readRows(text: string, file: string): readonly Row[] {
  const [names, ...records] = recordsOf(text, file)
  const missing = COLUMNS.find(
    (column) => names?.fields.includes(column) !== true && !NEW_COLUMNS.includes(column)
  )
  if (names === undefined || missing !== undefined)
    throw malformed(file, `is no statement: it has no column ${missing ?? ''}`)
  const places = COLUMNS.map((column) => [column, names.fields.indexOf(column)] as const)
  return records.map(({ line, fields }) => {
    if (fields.length !== names.fields.length) {
      const counts = `${String(fields.length)} fields, and the line of the names has ${String(names.fields.length)}`
      throw malformed(file, `is wrong in line ${String(line)}: it has ${counts}`)
    }
    const cells = Object.fromEntries(places.map(([column, place]) => [column, fields[place]]))
    return { line, cells }
  })
}

function recordsOf(text: string, file: string): ReturnType<typeof parseCsv> {
  try {
    return parseCsv(text)
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw malformed(file, `is neither JSON nor CSV: line ${String(error.line)} ${error.message}`)
  }
}

function assertSameStatement(first: Row, row: Row, file: string): void {
  const other = COMMON_COLUMNS.find((column) => row.cells[column] !== first.cells[column])
  if (other !== undefined)
    throw malformed(file, `is wrong in line ${String(row.line)}: ${other} is another one than before`)
}

function checkRow<Schema extends z.ZodType>(schema: Schema, { line, cells }: Row, file: string) {
  return check(schema, cells, (problem, path) =>
    malformed(file, `is wrong in line ${String(line)}: ${fieldName(path)}: ${problem}`)
  )
}

/** @throws what `refuse` makes of the first problem and the path to it */
function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  refuse: (problem: string, path: readonly PropertyKey[]) => CommandError
): z.output<Schema> {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  throw refuse(issue?.message ?? 'is malformed', issue?.path ?? [])
}

function malformed(file: string, problem: string): CommandError {
  return new CommandError(`the statement ${file} ${problem}`, 'statement')
}
