import { runServiceProgram } from '@open-payments-server/service-kit/program'
import { loadConfig } from './config.js'

// `node main.js` runs the service; `node main.js migrate` brings its database up to date and exits.

await runServiceProgram({
  name: 'resource-server',
  folder: new URL('..', import.meta.url),
  loadConfig,
  compose: async (config, surroundings) => {
    // Loaded here, because `migrate` needs none of it.
    const { composeResourceServer } = await import('./compose.js')
    return composeResourceServer(config, surroundings)
  }
})
