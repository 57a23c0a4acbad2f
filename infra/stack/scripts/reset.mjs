// `npm run reset`: wipes everything the quick start keeps in .local. Needs nothing installed.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const local = fileURLToPath(new URL('../../../.local', import.meta.url))

const running = runningStack()
if (running !== undefined) {
  console.error(`  The stack is running, as process ${running}. Stop it first, with Ctrl-C where it runs.`)
  process.exit(1)
}
if (!existsSync(local)) {
  console.log('  There is nothing to wipe.')
} else {
  removeMovedData()
  rmSync(local, { recursive: true, force: true })
  console.log('  Wiped .local: databases, keys, secrets and logs. `npm start` begins anew.')
}

/** The process id of the running stack. A killed stack leaves its id behind, which another process may have by now. */
function runningStack() {
  const processId = Number(readIfThere(join(local, 'stack.pid')) ?? 0)
  if (!Number.isSafeInteger(processId) || processId <= 0) return undefined
  try {
    process.kill(processId, 0)
  } catch (error) {
    if (error.code !== 'EPERM') return undefined
  }
  const command = readIfThere(`/proc/${processId}/cmdline`)
  return command === undefined || command.includes('start.mjs') ? processId : undefined
}

/** If PostgreSQL's user cannot reach this folder, its data is elsewhere, and a file says where. */
function removeMovedData() {
  const directory = readIfThere(join(local, 'postgres', 'moved-to'))?.trim()
  if (directory && /^data-[0-9a-f]{16}$/.test(basename(directory))) {
    rmSync(directory, { recursive: true, force: true })
  }
}

function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
