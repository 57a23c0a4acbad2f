import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe } from '@jest/globals'
import {
  findSchemaProblems,
  findTools,
  type Helm,
  type KubernetesObject,
  parseObjects
} from '@open-payments-server/kubernetes'
import { CHART, runHelm } from '../src/index.js'

export const NAMESPACE = 'open-payments'
/** The folder of the examples. */
export const EXAMPLES = fileURLToPath(new URL('../../kubernetes/examples/', import.meta.url))

const found = await findTools()
if (typeof found === 'string')
  console.log(`skipped: no Helm can be had, so the chart is not rendered: ${found}`)
const { helms, kubectl } =
  typeof found === 'string' ? { helms: [{ name: 'helm', path: 'helm' }], kubectl: 'kubectl' } : found

/** Path of `kubectl`. */
export const KUBECTL = kubectl

/** Describes the chart as each Helm reads it; nothing where there is none. */
export function describeWithEachHelm(title: string, tests: (chart: Rendering, helm: Helm) => void): void {
  const describeHelms = typeof found === 'string' ? describe.skip : describe
  describeHelms.each(helms)(`${title}, read by $name`, (helm) => {
    const rendering = new Rendering(helm)
    beforeAll(() => rendering.open())
    afterAll(() => rendering.close())
    tests(rendering, helm)
  })
}

/** The chart, rendered by a Helm. */
export class Rendering {
  readonly #helm: Helm
  #folder = ''

  constructor(helm: Helm) {
    this.#helm = helm
  }

  /** A folder for files of the tests. */
  get folder(): string {
    return this.#folder
  }

  async open(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'chart-'))
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }

  /** What is installed with these values over the defaults. */
  async text(given: unknown = {}, ...options: string[]): Promise<string> {
    return this.textOf(CHART, given, ...options)
  }

  /** The same of another chart. */
  async textOf(chart: string, given: unknown = {}, ...options: string[]): Promise<string> {
    const file = join(this.#folder, 'values.json')
    await writeFile(file, JSON.stringify(given))
    return this.run(
      'template',
      'open-payments',
      chart,
      '--namespace',
      NAMESPACE,
      '--values',
      file,
      ...options
    )
  }

  /** The objects that are installed with these values over the defaults. */
  async objects(given: unknown = {}, ...options: string[]): Promise<KubernetesObject[]> {
    return parseObjects(await this.text(given, ...options))
  }

  /** What Helm says when it refuses these values. */
  async refusal(given: unknown): Promise<string> {
    return this.text(given).then(
      () => 'nothing was refused',
      (error: unknown) => (error as { stderr: string }).stderr
    )
  }

  run(...words: string[]): Promise<string> {
    return runHelm(this.#helm, words)
  }
}

/** What the published schemas find wrong with objects. */
export async function schemaProblemsOf(objects: readonly KubernetesObject[]): Promise<string[]> {
  const problems: string[] = []
  // One after the other, because jest cannot load a module twice at once.
  for (const object of objects) {
    for (const problem of await findSchemaProblems(object)) problems.push(`${keyOf(object)}: ${problem}`)
  }
  return problems
}

export function keyOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.name}`
}
