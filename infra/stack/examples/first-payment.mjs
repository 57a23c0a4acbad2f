// The first payment by hand: a shop pays bob 10.00 USD from alice's wallet, once she has consented.
// Start the stack with `npm start`, then run this in another terminal: node infra/stack/examples/first-payment.mjs
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAuthenticatedClient } from '@interledger/open-payments'

const stack = await readFile('.local/stack.json', 'utf8').then(JSON.parse, (error) => {
  if (error.code !== 'ENOENT') throw error
  console.error('The stack does not run: start it with `npm start`, and run this in the same folder.')
  process.exit(1)
})

// The shop is a client: it has its own wallet address, and a key with which it signs every request.
const client = await createAuthenticatedClient({
  walletAddressUrl: stack.client.walletAddress,
  privateKey: stack.client.privateKeyFile,
  keyId: stack.client.keyId,
  useHttp: true // only because everything here is on http://localhost
})
const bob = await client.walletAddress.get({ url: stack.walletAddresses.bob })
const alice = await client.walletAddress.get({ url: stack.walletAddresses.alice })

// 1. An incoming payment says what bob is to receive. Nobody has to consent to that.
const incomingGrant = await client.grant.request(
  { url: bob.authServer },
  { access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'read'] }] } }
)
const incomingPayment = await client.incomingPayment.create(
  { url: bob.resourceServer, accessToken: incomingGrant.access_token.value },
  { walletAddress: bob.id, incomingAmount: { value: '1000', assetCode: 'USD', assetScale: 2 } }
)

// 2. A quote says what alice pays for it.
const quoteGrant = await client.grant.request(
  { url: alice.authServer },
  { access_token: { access: [{ type: 'quote', actions: ['create'] }] } }
)
const quote = await client.quote.create(
  { url: alice.resourceServer, accessToken: quoteGrant.access_token.value },
  { walletAddress: alice.id, receiver: incomingPayment.id, method: 'ilp' }
)

// 3. Alice has to consent in her own browser, which is then sent back to us.
const callback = createServer().listen(0, '127.0.0.1')
await once(callback, 'listening')
const nonce = randomUUID()
const grant = await client.grant.request(
  { url: alice.authServer },
  {
    access_token: {
      access: [
        {
          type: 'outgoing-payment',
          actions: ['create', 'read'],
          identifier: alice.id,
          limits: { receiver: incomingPayment.id, debitAmount: quote.debitAmount }
        }
      ]
    },
    interact: {
      start: ['redirect'],
      finish: { method: 'redirect', uri: `http://localhost:${callback.address().port}/`, nonce }
    }
  }
)
const answeredAt = Date.now()
console.log(`Open this page, sign in as alice and agree:\n${grant.interact.redirect}`)
const [request, response] = await once(callback, 'request')
response.end('Thank you. The shop goes on in the terminal.')
callback.close()

// 4. The hash proves that the browser comes from this request and not from someone else's.
const answer = new URL(request.url, 'http://localhost').searchParams
const interactRef = answer.get('interact_ref')
if (interactRef === null) throw new Error(`Alice did not agree: ${answer.get('result')}`)
const proof = [nonce, grant.interact.finish, interactRef, alice.authServer].join('\n')
if (createHash('sha256').update(proof).digest('base64') !== answer.get('hash')) throw new Error('wrong hash')

// 5. Her consent is exchanged for an access token, and the token pays.
//    The server says how long to wait after its answer; most of that passed while she read.
await sleep(Math.max(0, answeredAt + (grant.continue.wait ?? 0) * 1000 - Date.now()))
const { access_token: token } = await client.grant.continue(
  { url: grant.continue.uri, accessToken: grant.continue.access_token.value },
  { interact_ref: interactRef }
)
const payment = await client.outgoingPayment.create(
  { url: alice.resourceServer, accessToken: token.value },
  { walletAddress: alice.id, quoteId: quote.id }
)
console.log(`Paid: ${payment.id}`)

// 6. The payment is processed at once: poll until the money has arrived, or the payment has failed.
for (;;) {
  const { failed, sentAmount, debitAmount } = await client.outgoingPayment.get({
    url: payment.id,
    accessToken: token.value
  })
  if (failed) throw new Error('The payment failed.')
  if (sentAmount.value === debitAmount.value) break
  await sleep(200)
}
console.log('Bob has received 10.00 USD.')
