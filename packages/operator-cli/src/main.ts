#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import pc from 'picocolors'
import { writerTo } from './output.js'
import { runCli } from './run-cli.js'

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  stackFile: fileURLToPath(new URL('../../../.local/stack.json', import.meta.url)),
  stdout: writerTo(process.stdout),
  stderr: writerTo(process.stderr),
  colors: pc.isColorSupported,
  awaitInterruption: () => {
    const interruption = new AbortController()
    process.once('SIGINT', () => {
      interruption.abort()
    })
    return interruption.signal
  }
})
