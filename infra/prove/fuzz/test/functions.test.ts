import { fuzzTests } from '../src/fuzz.js'
import { BODY_TARGETS } from '../src/targets/bodies.js'
import { PACKET_TARGETS } from '../src/targets/packets.js'
import { SIGNATURE_TARGETS } from '../src/targets/signatures.js'
import { TEXT_TARGETS } from '../src/targets/texts.js'

fuzzTests(
  'whatever a function is given',
  [...SIGNATURE_TARGETS, ...BODY_TARGETS, ...TEXT_TARGETS, ...PACKET_TARGETS],
  0.98
)
