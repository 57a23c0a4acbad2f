import { CsvError as ParseError, parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'

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
    /** The line that the record begins on, from 1. */
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
  // The library counts the line breaks within quotes that have a carriage return twice.
  let line = 1
  try {
    parse(text, {
      record_delimiter: ['\r\n', '\n'],
      // Whoever reads the records knows how many fields they need.
      relax_column_count: true,
      on_record: (fields: string[]) => {
        if (fields.length > 1 || fields[0] !== '') records.push({ line, fields })
        line += fields.join('').split('\n').length
        return null
      }
    })
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    throw new CsvError('has a quote that is misplaced or never closed', line)
  }
  return records
}
