import { callUnary } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { nameClient } from '../../domain/authorization.js'
import type { FrozenClients } from '../../domain/ports.js'
import { failureOf } from './messages.js'

/** Number of clients of one page. */
const PAGE_SIZE = 1_000

/** The frozen clients over gRPC. */
export function createFrozenClients(client: auth.GrantOperatorServiceClient): FrozenClients {
  const readPage = async (pageToken: string): Promise<auth.ListFrozenClientsResponse> => {
    try {
      return await callUnary(
        client,
        'listFrozenClients',
        { pageSize: PAGE_SIZE, pageToken, client: '' },
        { idempotent: true }
      )
    } catch (error) {
      throw failureOf(error)
    }
  }
  return {
    async list() {
      const names: string[] = []
      let pageToken = ''
      do {
        const page = await readPage(pageToken)
        names.push(...page.clients.map(nameOf))
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return names
    }
  }
}

function nameOf({ client }: auth.OperatedClient): string {
  if (client === undefined) throw new Error('the auth server told of a frozen client without its name')
  return nameClient(client)
}
