import type { Mutation } from '../mutation.js'

const POST_CLIENT = 'packages/http-client/src/post-client.ts'
const POSTING = 'packages/http-client/test/post.test.ts'

/** What is posted to webhook endpoints, and to whom. */
export const WEBHOOK_GUARDS: readonly Mutation[] = [
  {
    guard: 'the attempts of an endpoint are listed in the order in which they were made',
    file: 'packages/webhooks/src/store.ts',
    text: 'order by a.place desc limit',
    broken: 'order by place desc limit',
    test: {
      file: 'services/resource-server/test/webhooks.test.ts',
      title: 'lists all attempts, the newest first, page by page'
    }
  },
  {
    guard: 'a message goes without TLS to allowed private networks only',
    file: POST_CLIENT,
    text: 'const plain = connect(isPrivate)',
    broken: 'const plain = connect(() => true)',
    test: { file: POSTING, title: 'is not posted to the internet without TLS' }
  },
  {
    guard: 'a message goes to no private address that is not allowed',
    file: 'packages/http-client/src/networks.ts',
    text: 'parsed.kind() === network.kind() && parsed.match(network, bits)',
    broken: 'parsed.kind() === network.kind() || parsed.match(network, bits)',
    test: {
      file: POSTING,
      title: 'is not posted to a name of which one address is allowed, and another is not'
    }
  },
  {
    guard: 'the secret of an endpoint is of no use to another',
    file: 'packages/runtime/src/secret-box/secret-box.ts',
    text: 'if (protectedHeader.sub !== ownerId)',
    broken: 'if (protectedHeader.sub === undefined)',
    test: {
      file: 'packages/webhooks/src/secret.test.ts',
      title: 'a secret cannot be read with another key, nor as that of another endpoint'
    }
  },
  {
    guard: 'an event waits for those of its subject that were not delivered',
    file: 'packages/webhooks/src/endpoint-delivery.ts',
    text: 'if (this.#backlog.has(subjectId)) waiting.push(state)',
    broken: 'if (this.#backlog.size < 0) waiting.push(state)',
    test: {
      file: 'packages/webhooks/src/endpoint-delivery.test.ts',
      title: 'whatever fails, crashes and is slow: every event is delivered, in order for each subject'
    }
  },
  {
    guard: 'an endpoint that is given to another wallet address gets nothing of the one before',
    file: 'packages/webhooks/src/endpoint-delivery.ts',
    text: 'return event !== undefined && wants(event) ? event : undefined',
    broken: 'return event',
    test: {
      file: 'services/resource-server/test/webhooks.test.ts',
      title:
        'that is given to another wallet address gets nothing of the one before, not even what it failed to take'
    }
  },
  {
    guard: "what is spent under a grant is told to the account holder's wallet address only",
    file: 'services/auth-server/src/domain/access.ts',
    text: '(consented.length > 0 ? consented : access).flatMap',
    broken: 'access.flatMap',
    test: {
      file: 'services/auth-server/src/domain/access.test.ts',
      title: 'are not those that a client may be paid at by anybody, when another pays'
    }
  },
  {
    guard: 'a refund is told to the wallet addresses that paid and received, and no others',
    file: 'services/resource-server/src/features/tell-events/complete-events.ts',
    text: 'walletAddresses: sides.get(refund.refundOf) ?? []',
    broken: 'walletAddresses: [...sides.values(), [urls.ofWalletAddress("/carol")]].flat()',
    test: {
      file: 'services/resource-server/test/webhooks.test.ts',
      title: 'gets the refunds of its wallet address, whether it paid or received, and no others'
    }
  },
  {
    guard: 'the secret before a rotation signs for a day only',
    file: 'packages/webhooks/src/delivery-worker.ts',
    text: 'const signing = opened.filter(({ untilMs }) => now() < untilMs)',
    broken: 'const signing = opened',
    test: {
      file: 'services/resource-server/test/webhooks.test.ts',
      title: 'is signed for by both secrets for a day after a rotation'
    }
  }
]
