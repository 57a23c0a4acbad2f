import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from '@jest/globals'

const run = promisify(execFile)
const compiler = new URL('../scripts/compile.mjs', import.meta.url).href

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(await realpath(tmpdir()), 'compile-'))
  await write('package.json', '{ "type": "module" }')
})

afterEach(() => rm(folder, { recursive: true }))

it('compiles sources and generated code with source maps, without tests', async () => {
  await write('src/main.ts', "import { refuse } from './generated/refuse.js'\n\nrefuse<number>(1)\n")
  await write(
    'src/generated/refuse.ts',
    '/** Two lines\n * of words. */\nexport function refuse<Value>(value: Value): never {\n' +
      '  throw new Error(`refused ${String(value)}`)\n}\n'
  )
  await write('src/main.test.ts', 'export {}\n')
  await compile()
  expect(await filesOf('dist')).toEqual([
    'generated/refuse.js',
    'generated/refuse.js.map',
    'main.js',
    'main.js.map'
  ])

  const failed = run(process.execPath, ['--enable-source-maps', join(folder, 'dist/main.js')])
  const { stderr } = await failed.then(
    () => ({ stderr: '' }),
    (error: unknown) => error as { stderr: string }
  )
  expect(stderr).toContain('refused 1')
  expect(stderr).toContain(`${join(folder, 'src/generated/refuse.ts')}:4:9`)
  expect(stderr).toContain(`${join(folder, 'src/main.ts')}:3:1`)
})

it('removes output without a source', async () => {
  await write('src/kept.ts', 'export const kept: number = 1\n')
  await write('src/old/gone.ts', 'export const gone: number = 1\n')
  await compile()
  await rm(join(folder, 'src/old'), { recursive: true })
  await compile()
  expect(await filesOf('dist')).toEqual(['kept.js', 'kept.js.map'])
})

it('fails for invalid TypeScript, and names the file', async () => {
  await write('src/broken.ts', 'export const = 1\n')
  await expect(compile()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('broken.ts') })
})

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(folder, path, '..'), { recursive: true })
  await writeFile(join(folder, path), text)
}

/** In a separate process, because jest would compile the compiler. */
async function compile(): Promise<void> {
  const script = `import { compile } from '${compiler}'; await compile(process.argv[1])`
  await run(process.execPath, ['--input-type=module', '--eval', script, folder])
}

async function filesOf(path: string): Promise<string[]> {
  const entries = await readdir(join(folder, path), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, path).length + 1))
    .sort()
}
