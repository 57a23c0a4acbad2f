import type { Allowance } from './canaries.js'

/** The only places where sent or secret values may occur. Each is needed: a test fails for one that is not. */
export const ALLOWED: readonly Allowance[] = [
  {
    canary: /^token that was/,
    place: /^answer body of POST \/(continue\/\{\}|token\/\{\})? 200$/,
    reason: 'who is given a token is told it, once'
  },
  {
    canary: /^sharedSecret$/,
    place: /^answer body of (POST \/incoming-payments 201|GET \/incoming-payments\/\{\} 200)$/,
    reason: 'who may read an incoming payment may pay it'
  },
  {
    canary: /^cookie$/,
    place: /^answer header set-cookie of GET \/interact\/\{\}\/\{\} 303$/,
    reason: 'the browser that opens an interaction first is given it'
  },
  {
    canary: /^nonce of an interaction$/,
    place:
      /^(answer body of POST \/ 200|answer header location of GET \/interact\/\{\}\/\{\} 303|database of auth-server, interaction\.nonce)$/,
    reason: 'a part of the address of an interaction, and of what the client proves its end by'
  },
  {
    canary: /^(interact_ref|hash)$/,
    place: /^answer header location of GET \/interact\/\{\}\/\{\}\/finish 303$/,
    reason: 'the browser brings it back to the client'
  },
  {
    canary: /^interact_ref$/,
    place: /^database of auth-server, interaction\.reference$/,
    reason:
      'the end of an interaction may be opened again; it is good only with the key and token of the client'
  },
  {
    canary: /^POST \/ body interact\.finish\.nonce/,
    place: /^database of auth-server, grant_request\.finish_nonce$/,
    reason: 'the hash of the end of the interaction is made with it'
  },
  {
    canary: /^POST \/outgoing-payments body metadata\./,
    place: /^answer body of (POST \/outgoing-payments 201|GET \/outgoing-payments(\/\{\})? 200)$/,
    reason: 'metadata is for the client that sent it'
  },
  {
    canary: /^POST \/outgoing-payments body metadata\./,
    place: /^database of resource-server, outgoing_payment\.metadata$/,
    reason: 'metadata is kept with its payment'
  },
  {
    canary: / (body (.+\.)?assetCode|member)$/,
    place: /^answer body of POST \/(incoming-payments|outgoing-payments|quotes)? 400$/,
    reason: 'who sends a member or an asset that is not accepted is told which'
  },
  {
    canary: /^reason of a rejection$/,
    place: /^database of auth-server, grant_request\.rejection_reason$/,
    reason: 'the client is told when it asks'
  },
  {
    canary: /^gRPC (path|public name|asset code)$/,
    place: /^gRPC answer$/,
    reason: 'operators are shown what they made'
  },
  {
    canary: /^gRPC (path|public name|asset code)$/,
    place:
      /^database of resource-server, (wallet_address\.path|wallet_address\.public_name|asset\.code|account\.asset_code)$/,
    reason: 'operators make wallet addresses and assets'
  },
  {
    canary: /^gRPC (path|public name|asset code)$/,
    place: /^database of resource-server, operator_action\.(request|before|after|subject)$/,
    reason: 'what operators did is recorded'
  }
]
