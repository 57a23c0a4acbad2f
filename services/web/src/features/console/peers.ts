import { wallet } from '@open-payments-server/proto'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { OperationRefused } from '../operated.js'
import { PAGE_SIZE } from './payments.js'
import { NONE, pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** How much of what a peer may owe is used, and how that stands. */
export function liquidityOf(
  { show }: Visit,
  peer: wallet.Peer
): Extract<Block, { kind: 'meters' }>['meters'][number] {
  const { receivableValue, receivableLimitValue, lowAlertValue } = peer
  const owed = BigInt(receivableValue === '' ? 0 : receivableValue)
  const limit = receivableLimitValue === '' ? undefined : BigInt(receivableLimitValue)
  const text =
    limit === undefined
      ? show.money(receivableValue, peer.asset)
      : `${show.money(receivableValue, peer.asset)} / ${show.money(receivableLimitValue, peer.asset)}`
  const share = limit === undefined || limit === 0n ? 0 : Number((owed * 1_000n) / limit) / 1_000
  const isLow = limit !== undefined && lowAlertValue !== '' && limit - owed < BigInt(lowAlertValue)
  return {
    label: peerCell(peer.name),
    text,
    share: Math.max(0, share),
    tone: share >= 1 ? 'bad' : isLow ? 'waiting' : undefined
  }
}

function peerCell(name: string): Cell {
  return { text: name, href: `/peers/${encodeURIComponent(name)}` }
}

/** `/peers`: other providers, and what is owed. */
export async function listPeers(visit: Visit): Promise<Reply> {
  const { t, show, operated, query } = visit
  const request = { pageSize: PAGE_SIZE, pageToken: query.get('after') ?? '' }
  const page = await operated.peers('listPeers', request)
  return {
    title: t('peers'),
    section: 'peers',
    blocks: [
      { kind: 'meters', title: t('liquidity'), meters: page.peers.map((peer) => liquidityOf(visit, peer)) },
      {
        kind: 'table',
        title: t('peers'),
        empty: t('noPeers'),
        next: page.nextPageToken === '' ? undefined : pathTo('/peers', { after: page.nextPageToken }),
        columns: [
          { label: t('peer') },
          { label: t('theyOwe'), isNumber: true },
          { label: t('theirLimit'), isNumber: true },
          { label: t('weOwe'), isNumber: true },
          { label: t('ourLimit'), isNumber: true },
          { label: t('ilpAddress') }
        ],
        rows: page.peers.map((peer) => [
          peerCell(peer.name),
          show.money(peer.receivableValue, peer.asset),
          show.money(peer.receivableLimitValue, peer.asset),
          show.money(peer.payableValue, peer.asset),
          show.money(peer.payableLimitValue, peer.asset),
          { text: peer.ilpAddress, isCode: true }
        ])
      }
    ]
  }
}

/** What is owed between a peer and this provider. */
export function peerFacts({ t, show }: Visit, peer: wallet.Peer): Fact[] {
  const money = (value: string): string => show.money(value, peer.asset)
  return [
    { label: t('theyOwe'), value: money(peer.receivableValue) },
    { label: t('theirLimit'), value: money(peer.receivableLimitValue) },
    { label: t('weOwe'), value: money(peer.payableValue) },
    { label: t('ourLimit'), value: money(peer.payableLimitValue) }
  ]
}

/** `/peers/:name`: a peer, what is owed, and packets of which nothing is known. */
export async function showPeer(visit: Visit): Promise<Reply> {
  const { t, show, operated, request, query, nowMs } = visit
  const name = request.param('name')
  const date = query.get('date') ?? new Date(nowMs - 86_400_000).toISOString().slice(0, 10)
  const [{ peer }, unknown, statement, entries] = await Promise.all([
    operated.peers('getPeer', { name }),
    operated.peers('listUnknownPackets', {
      name,
      pageSize: PAGE_SIZE,
      pageToken: query.get('unknown') ?? ''
    }),
    operated.peers('getPeerStatement', { name, date }),
    operated.peers('listPeerEntries', {
      name,
      date,
      pageSize: PAGE_SIZE,
      pageToken: query.get('after') ?? ''
    })
  ])
  if (peer === undefined) throw new OperationRefused('not-found', name)
  const money = (value: string): string => show.money(value, peer.asset)
  const pageAfter = (place: 'after' | 'unknown', token: string): string | undefined =>
    token === '' ? undefined : pathTo(`/peers/${encodeURIComponent(name)}`, { date, [place]: token })
  return {
    title: name,
    section: 'peers',
    blocks: [
      {
        kind: 'facts',
        facts: [
          ...peerFacts(visit, peer),
          { label: t('packetLimit'), value: money(peer.packetLimitValue) },
          { label: t('ilpAddress'), value: { text: peer.ilpAddress, isCode: true } },
          { label: t('endpoint'), value: peer.endpoint },
          { label: t('routes'), value: peer.routes.length === 0 ? NONE : peer.routes.join(', ') },
          { label: t('created'), value: show.instant(peer.createTime) }
        ]
      },
      { kind: 'meters', title: t('liquidity'), meters: [liquidityOf(visit, peer)] },
      {
        kind: 'acts',
        acts: visit.may('operator')
          ? [{ label: t('act.settle-peer'), href: pathTo('/act/settle-peer', { subject: name }) }]
          : []
      },
      unknownTable(visit, peer, unknown.packets, pageAfter('unknown', unknown.nextPageToken)),
      {
        kind: 'filter',
        label: t('statement'),
        action: `/peers/${encodeURIComponent(name)}`,
        button: t('show'),
        fields: [{ kind: 'text', name: 'date', label: t('day'), value: date }]
      },
      {
        kind: 'facts',
        title: t('statementOf', date),
        facts: [
          ...(statement.incomplete ? [{ label: t('until'), value: t('dayNotOver') }] : []),
          { label: t('theyOwedBefore'), value: money(statement.openingReceivableValue) },
          { label: t('theyOwedAfter'), value: money(statement.closingReceivableValue) },
          { label: t('weOwedBefore'), value: money(statement.openingPayableValue) },
          { label: t('weOwedAfter'), value: money(statement.closingPayableValue) }
        ]
      },
      statementTable(visit, peer, entries.entries, pageAfter('after', entries.nextPageToken))
    ]
  }
}

function unknownTable(
  visit: Visit,
  peer: wallet.Peer,
  packets: readonly wallet.UnknownPacket[],
  next: string | undefined
): Block {
  const { t, show } = visit
  const mayAct = visit.may('operator')
  const money = (value: string): string => show.money(value, peer.asset)
  return {
    kind: 'table',
    title: t('unknownPackets'),
    empty: t('noUnknownPackets'),
    next,
    columns: [
      { label: t('sentAt') },
      { label: t('amount'), isNumber: true },
      ...(mayAct ? [{ label: t('whatYouCanDo') }] : []),
      { label: t('payment') },
      { label: t('condition') }
    ],
    rows: packets.map((packet) => [
      show.instant(packet.sendTime),
      money(packet.value),
      ...(mayAct
        ? [
            {
              text: t('act.decide-packet'),
              href: pathTo('/act/decide-packet', { subject: `${peer.name} ${packet.condition}` })
            }
          ]
        : []),
      show.payment(packet.payment.split('/').at(-1) ?? ''),
      { text: packet.condition, isCode: true }
    ])
  }
}

function statementTable(
  { t, show }: Visit,
  peer: wallet.Peer,
  entries: readonly wallet.PeerEntry[],
  next: string | undefined
): Block {
  const money = (value: string): string => show.money(value, peer.asset)
  return {
    kind: 'table',
    title: t('entries'),
    empty: t('noEntries'),
    next,
    columns: [
      { label: t('at') },
      { label: t('kind') },
      { label: t('amount'), isNumber: true },
      { label: t('reference') },
      { label: t('payment') }
    ],
    rows: entries.map((entry) => [
      show.instant(entry.bookingTime),
      t(ENTRY_KINDS[entry.kind]),
      money(entry.value),
      { text: entry.identifier, isCode: true },
      entry.payment === '' ? NONE : show.payment(entry.payment.split('/').at(-1) ?? '')
    ])
  }
}

const ENTRY_KINDS = {
  [wallet.PeerEntryKind.PEER_ENTRY_KIND_UNSPECIFIED]: 'peer.received',
  [wallet.PeerEntryKind.UNRECOGNIZED]: 'peer.received',
  [wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED]: 'peer.received',
  [wallet.PeerEntryKind.PEER_ENTRY_KIND_SENT]: 'peer.sent',
  [wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_RECEIVED]: 'peer.theyPaid',
  [wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_SENT]: 'peer.wePaid'
} as const satisfies Readonly<Record<wallet.PeerEntryKind, string>>
