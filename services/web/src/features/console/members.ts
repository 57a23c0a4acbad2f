import { z } from 'zod'
import type { Cell, Member } from '../../pages/console/blocks.js'
import { presentableName, presentableWhole } from '../../words/presentable.js'
import { NONE } from './show.js'

const members = z.record(z.string(), z.unknown())

/**
 * The members of a message of the contract, as people read them. Whoever sent it chose the values and none of the names: so each value
 * stands apart, without signs that would change the text around it.
 *
 * @param json an object; there are none in any other text
 */
export function membersOf(json: string): readonly Member[] {
  return [...textsOf(json)].map(shown)
}

/** What changed of a subject: its members as they were, and as they are or would be. */
export function changedMembers({
  before,
  after
}: {
  readonly before: string
  readonly after: string
}): readonly [before: readonly Member[], after: readonly Member[]] {
  const [was, is] = [textsOf(before), textsOf(after)]
  const differing = (of: Texts, other: Texts): readonly Member[] =>
    [...of].filter(([name, value]) => other.size === 0 || other.get(name) !== value).map(shown)
  return [differing(was, is), differing(is, was)]
}

/** Members as a value of a page. */
export function membersCell(all: readonly Member[]): Cell {
  return all.length === 0 ? { text: NONE } : { text: '', members: all }
}

/** Number of members that a table shows of one state. */
const BRIEF_MEMBERS_MAX = 4

/** The same for a table: a few of them, and of each the beginning. */
export function briefCell(all: readonly Member[]): Cell {
  const brief = all
    .slice(0, BRIEF_MEMBERS_MAX)
    .map(([name, value]) => [name, presentableName(value)] as const)
  return { ...membersCell(brief), ...(all.length > BRIEF_MEMBERS_MAX ? { remark: '…' } : {}) }
}

function shown([name, value]: readonly [string, string]): Member {
  const text = presentableWhole(value)
  return [name, text === '' ? NONE : text]
}

/** The values of a JSON object by the paths of their names, such as `holder.issuer`. */
type Texts = ReadonlyMap<string, string>

function textsOf(json: string): Texts {
  const { data = {} } = members.safeParse(json === '' ? {} : JSON.parse(json))
  return new Map(leavesOf('', data))
}

function leavesOf(path: string, value: unknown): (readonly [path: string, text: string])[] {
  if (typeof value === 'object' && value !== null) {
    const leaves = Object.entries(value).flatMap(([name, member]) =>
      leavesOf(path === '' ? name : `${path}.${name}`, member)
    )
    return leaves.length === 0 && path !== '' ? [[path, '']] : leaves
  }
  return [[path, typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)]]
}
