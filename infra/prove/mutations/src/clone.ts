import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Clones the repository, prepares the clone for tests, uses it, and removes it. */
export async function withClone<Result>(
  repository: string,
  use: (clone: string) => Promise<Result>
): Promise<Result> {
  const clone = await mkdtemp(join(tmpdir(), 'mutations-'))
  try {
    await run('git', ['clone', '--quiet', '--local', repository, clone])
    const prepare = `import { prepare } from './infra/stack/scripts/prepare.mjs'; await prepare({ build: 'everything' })`
    await run(process.execPath, ['--input-type=module', '--eval', prepare], clone)
    return await use(clone)
  } finally {
    await rm(clone, { recursive: true, force: true })
  }
}

function run(command: string, parameters: readonly string[], folder?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`\`${command} ${parameters.join(' ')}\` ended with ${String(code)}`))
    })
  })
}
