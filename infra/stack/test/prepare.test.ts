import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { relative } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const SCRIPT = new URL('../scripts/prepare.mjs', import.meta.url).href

/** In a process of its own, as the scripts are used. */
async function foldersToBuild(what: string): Promise<string[]> {
  const script = `import { foldersToBuild } from '${SCRIPT}'; console.log(JSON.stringify(foldersToBuild(process.argv[1])))`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
    what
  ])
  return (JSON.parse(stdout) as string[]).map((folder) => relative(ROOT, folder)).sort()
}

describe('what is built', () => {
  it('for the stack is what runs: no tests, no measurements, nothing of deployments', async () => {
    const folders = await foldersToBuild('stack')
    expect(folders).toEqual(
      expect.arrayContaining([
        'infra/stack',
        'packages/operator-cli',
        'proto',
        'services/auth-server',
        'services/resource-server'
      ])
    )
    expect(folders.filter((folder) => /^infra\/(?!stack$)|^packages\/testing$/.test(folder))).toEqual([])
  })

  it('for a service is what its image contains', async () => {
    const folders = await foldersToBuild('resource-server')
    expect(folders).toEqual(expect.arrayContaining(['proto', 'services/resource-server']))
    expect(folders.filter((folder) => /^infra|auth-server|local-services|operator-cli/.test(folder))).toEqual(
      []
    )
  })

  it('for tests is everything', async () => {
    const folders = await foldersToBuild('everything')
    expect(folders).toEqual(expect.arrayContaining(await foldersToBuild('stack')))
    expect(folders).toEqual(expect.arrayContaining(['infra/prove/load', 'packages/testing']))
  })

  it('is refused for a package that does not exist', async () => {
    await expect(foldersToBuild('stak')).rejects.toMatchObject({
      stderr: expect.stringContaining('no package stak')
    })
  })
})
