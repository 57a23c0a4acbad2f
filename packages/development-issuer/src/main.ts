// The development issuer as a program, until SIGTERM or SIGINT. Its options are JSON in an environment variable.
import { OPTIONS_VARIABLE, type DevelopmentIssuerOptions } from './options.js'
import { startDevelopmentIssuer } from './start.js'

const text = process.env[OPTIONS_VARIABLE]
if (text === undefined) throw new Error(`${OPTIONS_VARIABLE} is not set: the options as JSON`)
const issuer = await startDevelopmentIssuer(JSON.parse(text) as DevelopmentIssuerOptions)
process.stdout.write(`OpenID Provider at ${issuer.url}\n`)
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void issuer.close())
