// Runs one server for a parent process and ends it when the parent is gone, however the parent went.
//
// The parent holds our standard input open. It closes when the parent asks for a stop, ends, or is killed; each
// of these ends the server in good order. A line on it names a signal that the server is to get at once. We run in
// a session of our own, so Ctrl-C in a terminal reaches the parent alone and the parent decides what stops first.
//
// Plain JavaScript beside src/ and dist/, because it must run from both.
import { spawn } from 'node:child_process'
import { rmdirSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

const spec = JSON.parse(process.argv[2])
const server = spawn(spec.command, spec.arguments, {
  cwd: '/',
  env: spec.environment,
  uid: spec.user?.uid,
  gid: spec.user?.gid,
  stdio: ['ignore', 'inherit', 'inherit']
})

let stopping = false
function stop() {
  if (stopping) return
  stopping = true
  server.kill(spec.stopSignals[0])
  spec.stopSignals.slice(1).forEach((signal, index) => {
    setTimeout(() => server.kill(signal), (index + 1) * spec.graceMs)
  })
}

function tidyAway() {
  for (const path of spec.removeAfterwards) rmSync(path, { recursive: true, force: true })
  for (const path of spec.removeAfterwardsIfEmpty) {
    try {
      rmdirSync(path)
    } catch {
      // Not empty, or gone already: it holds something that is not ours to remove.
    }
  }
}

server.once('error', (error) => {
  console.error(`cannot run ${spec.command}: ${error.message}`)
  tidyAway()
  process.exit(127)
})
server.once('exit', (code) => {
  tidyAway()
  process.exit(code ?? 1)
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
process.stdin.on('error', stop)
createInterface({ input: process.stdin })
  .on('line', (signal) => server.kill(signal))
  .on('close', stop)
