#!/usr/bin/env node
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import pc from 'picocolors'
import { openPage } from './open-page.js'
import { writerTo } from './output.js'
import { runCli } from './run-cli.js'

/** Where the quick start keeps its data. */
const STACK_DIRECTORY = fileURLToPath(new URL('../../../.local', import.meta.url))

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
  stackFile: join(resolve(process.env.STACK_DIRECTORY ?? STACK_DIRECTORY), 'stack.json'),
  stdout: writerTo(process.stdout),
  stderr: writerTo(process.stderr),
  colors: pc.isColorSupported,
  awaitInterruption: () => {
    interruption = new AbortController()
    return interruption.signal
  },
  openPage
})
