import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { CommandError } from './command-error.js'
import {
  type PeerStatement,
  peerStatementCsv,
  type PeerStatementEntry,
  peerStatementJson,
  readPeerStatement,
  readPeerStatementFile
} from './peer-statement.js'

const CONDITION = 'uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek'

const FULFILLMENT = '-jdRWgnXCtq0NOpcBDWYAHJyCIsuCxpTBiDKlbbQYcQ'

const PACKET: PeerStatementEntry = {
  kind: 'received',
  identifier: CONDITION,
  value: 18_446_744_073_709_551_615n,
  bookedAt: new Date('2026-11-24T23:59:59.999Z'),
  payment: 'https://wallet.example/incoming-payments/1',
  fulfillment: FULFILLMENT
}

const STATEMENT: PeerStatement = {
  peer: 'bank-b',
  asset: { code: 'USD', scale: 2 },
  ilpAddress: 'g.bank-b',
  date: '2026-11-24',
  isComplete: true,
  opening: { receivable: -50n, payable: 0n },
  closing: { receivable: 99_999_999_999_999_999_999n, payable: -7n },
  entries: [PACKET, { ...PACKET, kind: 'sent', value: 0n, payment: undefined, fulfillment: undefined }]
}

const FORMS = [
  ['JSON', (statement: PeerStatement) => JSON.stringify(peerStatementJson(statement), null, 2)],
  ['CSV', peerStatementCsv]
] as const

function settled(reference: string): PeerStatement {
  const entry: PeerStatementEntry = {
    kind: 'settlement_received',
    identifier: reference,
    value: 5n,
    bookedAt: new Date('2026-11-24T10:00:00Z'),
    payment: undefined
  }
  return { ...STATEMENT, entries: [entry, { ...entry, kind: 'settlement_sent' }] }
}

describe.each(FORMS)('a statement in %s', (_form, write) => {
  it.each([
    ['with packets and large values', STATEMENT],
    ['without entries', { ...STATEMENT, entries: [] }],
    ['without an ILP address', { ...STATEMENT, ilpAddress: undefined }],
    ['of a day that is not over', { ...STATEMENT, isComplete: false }]
  ])('%s is read as it was written', (_what, statement) => {
    expect(readPeerStatement(write(statement), 'file')).toEqual(statement)
  })

  it.each([
    'INV 7, 2nd part',
    'the "big" one',
    '"',
    '""',
    'two\nlines',
    'two\r\nlines',
    'a\rb',
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\tcell',
    ' spaces ',
    'Überweisung \u{1f4b8}',
    '\u001b[2J'
  ])('keeps the reference %j exactly', (reference) => {
    const statement = settled(reference)
    expect(readPeerStatement(write(statement), 'file')).toEqual(statement)
  })
})

describe('the JSON form', () => {
  it('is this one', () => {
    expect(peerStatementJson({ ...STATEMENT, entries: [PACKET] })).toEqual({
      peer: 'bank-b',
      asset: { code: 'USD', scale: 2 },
      ilpAddress: 'g.bank-b',
      date: '2026-11-24',
      complete: true,
      opening: { receivable: '-50', payable: '0' },
      closing: { receivable: '99999999999999999999', payable: '-7' },
      entries: [
        {
          kind: 'received',
          identifier: CONDITION,
          value: '18446744073709551615',
          bookedAt: '2026-11-24T23:59:59.999Z',
          payment: 'https://wallet.example/incoming-payments/1',
          fulfillment: FULFILLMENT
        }
      ]
    })
  })

  it('may have more fields, those of a later version', () => {
    const text = JSON.stringify({ ...(peerStatementJson(STATEMENT) as object), later: true })
    expect(readPeerStatement(text, 'file')).toEqual(STATEMENT)
  })

  it('may be that of an earlier version, which told of days that were over only', () => {
    const { complete, ...earlier } = peerStatementJson(STATEMENT) as { readonly complete: boolean }
    expect(complete).toBe(true)
    expect(readPeerStatement(JSON.stringify(earlier), 'file')).toEqual(STATEMENT)
  })

  const valid = JSON.stringify(peerStatementJson(STATEMENT), null, 2)
  it.each([
    ['is cut off', valid.slice(0, 60), 'the statement theirs.json is not JSON'],
    ['has a number', valid.replace('"-50"', '-50'), 'theirs.json has a wrong opening.receivable: '],
    ['has no such day', valid.replace('11-24"', '11-31"'), 'has a wrong date: '],
    ['has an unknown kind', valid.replace('"sent"', '"lost"'), 'has a wrong entries[1].kind: '],
    [
      'has a negative value',
      valid.replace('"0",\n      "bookedAt"', '"-1",\n "bookedAt"'),
      'entries[1].value: must be a whole number'
    ],
    ['has a wrong time', valid.replace('T23:59', ' 23:59'), 'has a wrong entries[0].bookedAt: '],
    ['has a wrong scale', valid.replace('"scale": 2', '"scale": 256'), 'has a wrong asset.scale: '],
    ['lacks entries', valid.replace('"entries"', '"entrys"'), 'has a wrong entries: ']
  ])('that %s is refused', (_what, text, problem) => {
    expect(refusal(text, 'theirs.json')).toContain(problem)
  })

  it('that is broken is refused with its line where that is known, and without its text', () => {
    const message = refusal('{\n"a": 1,\n\u001b[2J}', 'theirs.json')
    expect(message).toBe('the statement theirs.json is not JSON: line 3 is wrong')
  })
})

describe('the CSV form', () => {
  it('is this one', () => {
    expect(peerStatementCsv({ ...STATEMENT, entries: [{ ...PACKET, payment: undefined }] })).toBe(
      [
        'peer,assetCode,assetScale,ilpAddress,date,kind,identifier,value,bookedAt,payment,receivable,payable,complete,fulfillment',
        'bank-b,USD,2,g.bank-b,2026-11-24,opening,,,,,-50,0,true,',
        `bank-b,USD,2,g.bank-b,2026-11-24,received,${CONDITION},18446744073709551615,2026-11-24T23:59:59.999Z,,,,true,${FULFILLMENT}`,
        'bank-b,USD,2,g.bank-b,2026-11-24,closing,,,,,99999999999999999999,-7,true,',
        ''
      ].join('\r\n')
    )
  })

  const valid = peerStatementCsv(settled('two\nlines'))

  it('may be that of an earlier version, or say in capitals whether the day was over', () => {
    const unproven = { ...STATEMENT, entries: [{ ...PACKET, fulfillment: undefined }] }
    const before = peerStatementCsv(unproven).replaceAll(/,(fulfillment)?\r/g, '\r')
    expect(readPeerStatement(before, 'file')).toEqual(unproven)
    const early = before.replaceAll(/,(complete|true)\r/g, '\r')
    expect(early).not.toContain('true')
    expect(readPeerStatement(early, 'file')).toEqual(unproven)
    const capitals = peerStatementCsv({ ...STATEMENT, isComplete: false }).replaceAll('false', 'FALSE')
    expect(readPeerStatement(capitals, 'file')).toEqual({ ...STATEMENT, isComplete: false })
  })

  it('may be what a spreadsheet makes of it: other line ends, all quoted, columns moved or added', () => {
    const lines = peerStatementCsv(STATEMENT).trimEnd().split('\r\n')
    const rewritten = lines.map((line, index) => {
      const [peer = '', ...others] = line.split(',')
      return [...others, index === 0 ? 'added' : 'x', peer].map((field) => `"${field}"`).join(',')
    })
    expect(readPeerStatement(`${rewritten.join('\n')}\n\n`, 'file')).toEqual(STATEMENT)
  })

  it.each([
    ['is empty', '', 'is no statement: it has no column peer'],
    ['is something else', 'Date;Value\r\n', 'it has no column peer'],
    ['lacks a column', valid.replace('payable', 'owed'), 'it has no column payable'],
    ['lacks its rows', valid.split('\r\n', 1).join(), 'no row of the kind "opening"'],
    ['is cut off', valid.slice(0, valid.lastIndexOf('bank-b,USD')), 'it may be cut off'],
    ['has an open quote', valid.replace('lines"', 'lines'), 'line 3 has a quote that is misplaced'],
    // The first reference has two lines.
    [
      'has a wrong value',
      valid.replace(/,5,(?!.*,5,)/, ',5.00,'),
      'is wrong in line 3: value: must be a whole number'
    ],
    ['has a wrong kind', valid.replace('settlement_sent', 'lost'), 'is wrong in line 5: kind: '],
    ['has a field too many', valid.replace(/,-7/, ',-7,'), 'is wrong in line 7: it has 15 fields'],
    ['has a wrong total', valid.replace(/,-7/, ',-07'), 'is wrong in line 7: payable: '],
    [
      'has two days',
      valid.replace('2026-11-24,closing', '2026-11-25,closing'),
      'line 7: date is another one'
    ],
    ['has a wrong scale', valid.replaceAll(',2,', ',256,'), 'is wrong in line 2: assetScale: '],
    [
      'is neither of a whole day nor of a part',
      valid.replaceAll('true', 'x'),
      'is wrong in line 2: complete: '
    ]
  ])('that %s is refused', (_what, text, problem) => {
    expect(refusal(text, 'theirs.csv')).toContain(problem)
  })
})

describe('a file with a statement', () => {
  it('is read with a byte order mark, and refused by name when it is not there or not UTF-8', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'peer-statement-'))
    const file = join(directory, 'theirs.csv')
    await expect(readPeerStatementFile(file)).rejects.toThrow(/theirs\.csv cannot be read: .*ENOENT/)
    await writeFile(file, `\ufeff${peerStatementCsv(STATEMENT)}`)
    await expect(readPeerStatementFile(file)).resolves.toEqual(STATEMENT)
    await writeFile(file, Buffer.from([0xff, 0xfe, 0x70, 0x00]))
    await expect(readPeerStatementFile(file)).rejects.toThrow(`the statement ${file} is not UTF-8`)
    await rm(directory, { recursive: true })
  })
})

function refusal(text: string, file: string): string {
  try {
    readPeerStatement(text, file)
  } catch (error) {
    if (error instanceof CommandError) return error.message
    throw error
  }
  return 'nothing was refused'
}
