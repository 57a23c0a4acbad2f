import { expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { createTroubleLog } from './peer-troubles.js'

it('trouble with a peer is logged with its cause, and not again for each packet', () => {
  const lines: string[] = []
  const logger = createLogger({
    service: 'resource-server',
    level: 'warn',
    destination: { write: (line) => lines.push(line) }
  })
  const log = createTroubleLog(logger)
  const trouble = new Error('the packet did not leave', { cause: new Error('ENOTFOUND bank-b.example') })
  for (const peer of ['bank-b', 'bank-b', 'bank-c', 'bank-b']) log(peer, trouble)
  const logged = lines.map((line) => JSON.parse(line) as { peerId: string; msg: string })
  expect(logged).toMatchObject([{ peerId: 'bank-b' }, { peerId: 'bank-c' }])
  expect(lines[0]).toContain('ENOTFOUND bank-b.example')
})
