import { readdir, readFile } from 'node:fs/promises'
import * as database from '@open-payments-server/database'
import type { jest } from '@jest/globals'

/** A statement of a service, composed of the fragments of its modules. */
export interface ComposedStatement {
  readonly name: string
  readonly text: string
}

/**
 * Composes all statements of a service, by importing its modules and features.
 *
 * @param folder the sources of the service, with a slash at the end; none of them has been imported yet
 * @param options.mockModule `jest.unstable_mockModule` of the test file
 * @param options.composeOthers composes the statements that importing alone does not
 * @throws Error when the sources have more statements than were composed
 */
export async function composeStatements(
  folder: string,
  options: {
    readonly mockModule: (typeof jest)['unstable_mockModule']
    readonly composeOthers?: () => Promise<void>
  }
): Promise<readonly ComposedStatement[]> {
  const composed: ComposedStatement[] = []
  class RecordedStatement<Row> extends database.Statement<Row> {
    constructor(...[name, statement, ...others]: ConstructorParameters<typeof database.Statement>) {
      super(name, statement, ...others)
      composed.push({ name, text: statement.sql })
    }
  }
  options.mockModule('@open-payments-server/database', () => ({ ...database, Statement: RecordedStatement }))
  const entries = await readdir(folder, { recursive: true })
  const files = entries.filter((name) => /(?<!\.test)\.ts$/.test(name) && !name.startsWith('generated/'))
  for (const file of files.filter((name) => /^(?:modules|features)\//.test(name)))
    await import(`${folder}${file}`)
  await options.composeOthers?.()
  const texts = await Promise.all(files.map((file) => readFile(`${folder}${file}`, 'utf8')))
  const count = texts.join('').match(/new Statement\b/g)?.length ?? 0
  if (composed.length < count)
    throw new Error(`of ${String(count)} statements, only ${String(composed.length)} were composed`)
  return composed
}
