/** What account holders consented to, and the proof of it. The table `consent_record`, of which no row ever changes. */
export { consentRecordValue, insertedConsentRecords } from './write.js'
export { findConsentRecord, isConsentOfAnother, type StoredConsentRecord } from './read.js'
