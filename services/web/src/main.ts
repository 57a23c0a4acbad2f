import { runServiceProgram } from '@open-payments-server/service-kit/program'
import { loadConfig } from './config.js'

await runServiceProgram({
  name: 'web',
  folder: new URL('..', import.meta.url),
  loadConfig,
  compose: async (config, surroundings) => {
    const { composeWeb } = await import('./compose.js')
    return composeWeb(config, surroundings)
  }
})
