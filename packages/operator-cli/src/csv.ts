import { stringify } from 'csv-stringify/sync'

/** A field and what may stand between its quotes (RFC 4180 §2). Matches everywhere, with nothing at worst. */
const FIELD = /"([^"]*(?:""[^"]*)*)"|([^",\r\n]*)/y
const END_OF_RECORD = /\r?\n|$/y

/** A record of a CSV file. */
export interface CsvRecord {
  /** The line that it begins on, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

/** Text that is not CSV. */
export class CsvError extends Error {
  override readonly name = 'CsvError'

  constructor(
    message: string,
    /** The line, from 1. */
    readonly line: number
  ) {
    super(message)
  }
}

/** Writes CSV (RFC 4180), with every text exactly as it is. */
export function formatCsv(records: readonly (readonly string[])[]): string {
  return stringify(
    records.map((record) => [...record]),
    // The library quotes whole delimiters of records only.
    { record_delimiter: 'windows', quoted_match: /[\r\n]/ }
  )
}

/**
 * Reads CSV (RFC 4180). Lines may end without a carriage return; empty ones are skipped.
 *
 * @throws CsvError
 */
export function parseCsv(text: string): readonly CsvRecord[] {
  const records: CsvRecord[] = []
  let [position, line] = [0, 1]
  while (position < text.length) {
    const record = readRecord(text, position, line)
    if (record.fields.length > 1 || record.fields[0] !== '') records.push({ line, fields: record.fields })
    position = record.end
    line += record.lineCount
  }
  return records
}

function readRecord(
  text: string,
  start: number,
  line: number
): { readonly fields: readonly string[]; readonly end: number; readonly lineCount: number } {
  const fields: string[] = []
  let [position, lineCount] = [start, 1]
  for (;;) {
    const fieldLine = line + lineCount - 1
    FIELD.lastIndex = position
    const [, quoted, bare = ''] = FIELD.exec(text) ?? []
    position = FIELD.lastIndex
    fields.push(quoted?.replaceAll('""', '"') ?? bare)
    lineCount += (quoted?.split('\n').length ?? 1) - 1
    if (text[position] === ',') {
      position += 1
      continue
    }
    END_OF_RECORD.lastIndex = position
    if (!END_OF_RECORD.test(text))
      throw new CsvError('has a quote that is misplaced or never closed', fieldLine)
    return { fields, end: END_OF_RECORD.lastIndex, lineCount }
  }
}
