export { type ClientWallet, startClientWallet, type WalletAddressOptions } from './client-wallet.js'
export { connectRaw, parseAnswers, type RawAnswer, type RawConnection, sendRaw } from './raw-connection.js'
export { type ComposedStatement, composeStatements } from './compose-statements.js'
export { ContractViolation, holdToContract, type OutsideContract } from './contract-keeper.js'
export {
  COMPUTED,
  findForeignCascades,
  findTablesWrittenTwice,
  findTableReads,
  findTableWrites,
  readSchemaTables,
  type SchemaTables,
  type TableUse
} from './find-writes.js'
export { recordStatements, type StatementRecord } from './record-statements.js'
export {
  type Answer,
  createSigningClient,
  send,
  type SignedRequestOptions,
  type SigningClient,
  type SigningClientOptions
} from './signing-client.js'
export {
  type ClientCall,
  type ClientSigning,
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
export { TestClock } from './test-clock.js'
export { createTestDatabase, type ServiceSchema, type TestDatabase, type TestQuery } from './test-database.js'
export { createTestKey, type TestKey } from './test-key.js'
export { type Scrape, scrapeMetrics } from './scrape-metrics.js'
export {
  compareWithDocument,
  type MetricSignature,
  readDocumentedMetrics,
  type ScrapedService
} from './documented-metrics.js'
export { damageDatabase } from './damage-database.js'
