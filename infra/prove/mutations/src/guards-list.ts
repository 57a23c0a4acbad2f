import { GUARDS } from './guards/index.js'
import type { Mutation } from './mutation.js'

const BEGIN =
  '<!-- Made from infra/prove/mutations/src/guards by `node infra/prove/mutations/scripts/write-docs.mjs`. -->'
const END = '<!-- End of what is made. -->'

/**
 * Inserts the list of guards, each with its test, at its place in a page.
 *
 * @throws Error when the page has no place for it
 */
export function withGuardsList(page: string): string {
  const [before, rest, ...others] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error('the page has no place for the list of guards, or several')
  }
  return `${before}${BEGIN}\n\n${guardsList()}\n${END}${after}`
}

function guardsList(): string {
  return GUARDS.map(({ title, mutations }) => `### ${title}\n\n${tableOf(mutations)}\n`).join('\n')
}

function tableOf(mutations: readonly Mutation[]): string {
  const rows = mutations.map(({ guard, file, test }) => [
    `${guard.charAt(0).toUpperCase()}${guard.slice(1)}.`,
    linkTo(file),
    `${escaped(test.title)} (${linkTo(test.file)})`
  ])
  return padded([['Guard', 'Where it is', 'The test that fails without it'], ...rows])
}

/** A link by the last two parts of a path, from the folder of the documents. */
function linkTo(path: string): string {
  return `[${path.split('/').slice(-2).join('/')}](../${path})`
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}

/** A table as the formatter of this repository writes it: every column as wide as its widest cell. */
function padded(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[], filler: string): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width, filler)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [
    line(head, ' '),
    line(
      widths.map(() => ''),
      '-'
    ),
    ...body.map((row) => line(row, ' '))
  ].join('\n')
}
