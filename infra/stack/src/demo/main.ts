import { parseArgs } from 'node:util'
import { runDemo } from './run-demo.js'

const USAGE = `
  Usage: npm run demo [-- --yes] [--across] [--to <name>]

  Shows a payment from consent to received money, against the stack that \`npm start\` runs.

    --yes      give consent without a person and a page, over the consent API
    --across   pay dora, who has her wallet at the second provider: \`npm start -- --providers 2\`
    --to       pay another wallet there, such as carol's; with --across, evan's
`

try {
  const { values } = parseArgs({
    options: {
      yes: { type: 'boolean', short: 'y' },
      across: { type: 'boolean' },
      to: { type: 'string' },
      help: { type: 'boolean', short: 'h' }
    }
  })
  if (values.help === true) process.stdout.write(`${USAGE}\n`)
  else {
    const { yes = false, across = false, to } = values
    process.exitCode = await runDemo({ yes, across, to })
  }
} catch (error) {
  process.stderr.write(`\n  ${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`)
  process.exitCode = 1
}
