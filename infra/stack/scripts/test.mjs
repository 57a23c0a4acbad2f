// `npm test`: prepares, then runs jest with whatever parameters it was given. Ends with jest's exit code; the last line
// says how many tests passed, failed and were skipped.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))

await prepare({ build: true })

const nodeOptions = [
  process.env.NODE_OPTIONS,
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning'
]
const jest = spawn(
  process.execPath,
  [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...process.argv.slice(2)],
  {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: nodeOptions.filter(Boolean).join(' ') },
    stdio: 'inherit'
  }
)
// On Ctrl-C jest stops by itself, and the database and Redis with it; we only have to outlive it.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => jest.kill('SIGTERM'))
jest.once('exit', (code) => {
  process.exitCode = code ?? 1
})
