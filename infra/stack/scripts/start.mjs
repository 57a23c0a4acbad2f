// `npm start`: prepares, then runs the whole stack in the foreground until Ctrl-C or SIGTERM. `--providers 2` runs two.
import { prepare } from './prepare.mjs'

await prepare({ build: 'stack' })
const { runStack } = await import('../dist/stack/run-stack.js')
process.exit(await runStack(process.env, process.argv.slice(2)))
