#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import pc from 'picocolors'
import { writerTo } from './output.js'
import { runCli } from './run-cli.js'

/** Tells a command that goes on until it is interrupted; any other is ended at once. */
let interruption: AbortController | undefined

// The first process of a container gets only the signals that it listens to.
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15]
] as const) {
  process.on(signal, () => {
    // As shells report a program that a signal ended.
    if (interruption === undefined || interruption.signal.aborted) process.exit(128 + number)
    interruption.abort()
  })
}

process.exitCode = await runCli(process.argv.slice(2), {
  name: process.env.npm_lifecycle_event === 'cli' ? 'npm run cli --' : 'operator',
  environment: process.env,
  stackFile: fileURLToPath(new URL('../../../.local/stack.json', import.meta.url)),
  stdout: writerTo(process.stdout),
  stderr: writerTo(process.stderr),
  colors: pc.isColorSupported,
  awaitInterruption: () => {
    interruption = new AbortController()
    return interruption.signal
  }
})
