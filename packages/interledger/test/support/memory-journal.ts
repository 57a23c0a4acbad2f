import type {
  JournalAnswer,
  JournalPacket,
  PacketJournal,
  PaymentProgress,
  SendTerms
} from '../../src/index.js'

/** A packet in the journal, with its answer if there is one. */
export type JournalRow = JournalPacket & { answer?: JournalAnswer }

/** A journal in memory, which checks what a ledger would: never more is sent than is held for the payment. */
export class MemoryJournal implements PacketJournal {
  readonly rows = new Map<number, JournalRow>()
  writes = 0
  /** Called with the number of each write; it waits for that. */
  hold: (write: number) => Promise<void> | void = () => undefined
  /** The write with this number fails: before anything is written, or after. */
  crash: { readonly atWrite: number; readonly when: 'before' | 'after' } | undefined

  constructor(
    readonly terms: SendTerms,
    readonly pause: () => Promise<void> = async () => undefined
  ) {}

  async write(answers: readonly JournalAnswer[], packets: readonly JournalPacket[]): Promise<void> {
    this.writes += 1
    const { crash } = this
    await this.pause()
    await this.hold(this.writes)
    if (crash?.atWrite === this.writes && crash.when === 'before') throw new Error('crashed before the write')
    for (const answer of answers) {
      const row = this.rows.get(answer.sequence)
      if (row === undefined || row.answer !== undefined) throw new Error('answered twice, or never sent')
      row.answer = answer
    }
    for (const packet of packets) {
      if (this.rows.has(packet.sequence)) throw new Error('a sequence was used twice')
      this.rows.set(packet.sequence, { ...packet })
    }
    if (
      this.sum((row) => (row.answer?.outcome === 'rejected' ? 0n : row.sendValue)) > this.terms.sendMaxValue
    ) {
      throw new Error('more is sent than may be')
    }
    if (crash?.atWrite === this.writes && crash.when === 'after') throw new Error('crashed after the write')
  }

  sum(value: (row: JournalRow) => bigint): bigint {
    return [...this.rows.values()].reduce((total, row) => total + value(row), 0n)
  }

  /** What is needed for going on: packets without an answer are unknown. */
  get progress(): PaymentProgress {
    const isFulfilled = ({ answer }: JournalRow): boolean => answer?.outcome === 'fulfilled'
    const isUnknown = ({ answer }: JournalRow): boolean =>
      answer === undefined || answer.outcome === 'unknown'
    return {
      nextSequence: Math.max(-1, ...this.rows.keys()) + 1,
      sentValue: this.sum((row) => (isFulfilled(row) ? row.sendValue : 0n)),
      deliveredValue: this.sum(({ answer }) =>
        answer?.outcome === 'fulfilled' ? answer.deliveredValue : 0n
      ),
      unknownSentValue: this.sum((row) => (isUnknown(row) ? row.sendValue : 0n)),
      unknownDeliverValue: this.sum((row) => (isUnknown(row) ? row.deliverMinValue : 0n)),
      unknownShortValue: this.sum((row) => (isUnknown(row) ? this.#shortOf(row) : 0n))
    }
  }

  #shortOf({ sendValue, deliverMinValue }: JournalRow): bigint {
    const { sendMaxValue, deliverValue } = this.terms
    const short = sendValue * deliverValue - deliverMinValue * sendMaxValue
    return short > 0n ? short : 0n
  }
}
