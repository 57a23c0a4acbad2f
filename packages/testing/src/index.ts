export { type ClientWallet, startClientWallet } from './client-wallet.js'
export { connectRaw, parseAnswers, type RawAnswer, sendRaw } from './raw-connection.js'
export { type ComposedStatement, composeStatements } from './compose-statements.js'
export { holdToContract } from './contract-keeper.js'
export {
  COMPUTED,
  findForeignCascades,
  findModelWrites,
  findTablesWrittenTwice,
  findWrittenTables,
  findTableReads,
  findTableWrites,
  readSchemaTables,
  type SchemaTables
} from './find-writes.js'
export { isBackgroundStatement, recordStatements, type StatementRecord } from './record-statements.js'
export {
  type Answer,
  createSigningClient,
  send,
  type SignedRequestOptions,
  type SigningClient
} from './signing-client.js'
export {
  type ClientCall,
  RELEASED_CLIENTS,
  type ReleasedClient,
  type WireRequest,
  wireBytes
} from './released-clients.js'
export {
  readWireFixtures,
  WIRE_FIXTURE_PARTS,
  type WireFixture,
  type WireFixtureKind
} from './wire-fixtures.js'
export { type RandomSequence, randomSequence, seedOf, weighted, wholeNumber } from './random.js'
export { RunningTestClock, TestClock } from './test-clock.js'
export { createTestDatabase, type TestDatabase, type TestQuery } from './test-database.js'
export { createIssuerKey, type IssuerKey, signJwt, startTestIssuer, type TestIssuer } from './test-issuer.js'
export { createTestKey, type TestKey } from './test-key.js'
export { type Scrape, scrapeMetrics } from './scrape-metrics.js'
export { compareWithDocument, readDocumentedMetrics } from './documented-metrics.js'
export { damageDatabase } from './damage-database.js'
export { sizeOnDisk } from './size-on-disk.js'
export { whenLocked } from './when-locked.js'
