// A run of its own for the tests: starts a PostgreSQL, says where it is, and stays until it is ended.
// Compiled code, because this is plain Node; jest's set-up has compiled it.
import { startPostgres } from '../dist/index.js'

const [directory, persistent] = process.argv.slice(2)
const { url } = await startPostgres({ directory, persistent: persistent === 'persistent' })
console.log(url)
setInterval(() => undefined, 60_000)
