import type { MethodDefinition } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Act, Acting } from '@open-payments-server/service-kit/operators'
import type { RevokeGrantDependencies } from '../features/end-grant/end-grant.js'
import {
  findClientName,
  findOperatedClient,
  type FreezeClientDependencies
} from '../features/freeze-client/freeze-client.js'
import { findGrant } from '../modules/grants/index.js'
import { toGrantMessage, toOperatedMessage } from './grant-operator.js'
import { readUuid } from './request-fields.js'

/** What operators' acts need, in a transaction or outside of one. */
export interface ActingDependencies extends Acting, RevokeGrantDependencies, FreezeClientDependencies {}

type ActOf<Method> =
  Method extends MethodDefinition<infer Request, infer Response>
    ? Act<Request, Response, ActingDependencies>
    : never
type ActsOf<Definition> = { readonly [Name in keyof Definition]?: ActOf<Definition[Name]> }

const ofClient = {
  subject: ({ client }: { readonly client: string }) =>
    ({ kind: 'client', name: findClientName(client) ?? client }) as const,
  look: async ({ client }: { readonly client: string }, dependencies: FreezeClientDependencies) =>
    toOperatedMessage(await findOperatedClient(client, dependencies)),
  made: ({ client }: { readonly client?: auth.OperatedClient | undefined }) => client
}

/** What is recorded of the calls of `GrantOperatorService`. Nothing is anybody's own matter: this service does not know who holds accounts. */
export const GRANT_ACTS = {
  revokeGrant: {
    subject: ({ grantId }) => ({ kind: 'grant', name: grantId }),
    look: async ({ grantId }, { database }) => {
      const grant = await findGrant(database, readUuid(grantId, 'grant_id'))
      return grant && { ...toGrantMessage(grant), state: auth.GrantState[toGrantMessage(grant).state] }
    },
    neverWaits: true
  },
  freezeClient: { ...ofClient, neverWaits: true },
  unfreezeClient: {
    ...ofClient,
    replaces: () => ['frozen', 'freezeTime', 'frozenBy', 'reason'],
    tellAgain: async ({ client }, { revocations }) =>
      revocations.publish({ kind: 'client', client: findClientName(client) ?? client })
  }
} as const satisfies ActsOf<typeof auth.GrantOperatorServiceService>
