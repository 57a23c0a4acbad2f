/** A value on a page of the console. */
export interface Cell {
  readonly text: string
  /** Path here that it leads to. */
  readonly href?: string | undefined
  /** How it stands: shown by a mark and by colour, besides the words. */
  readonly tone?: 'good' | 'bad' | 'waiting' | undefined
  /** What is said of it, smaller. */
  readonly remark?: string | undefined
  /** Whether it is an instant, an id or another text whose letters are to be compared. */
  readonly isCode?: boolean | undefined
  /** Members of a message, each on a line of its own, in place of the text. */
  readonly members?: readonly Member[] | undefined
}

/** A member of a message. */
export type Member = readonly [name: string, value: string]

/** A fact about something. */
export interface Fact {
  readonly label: string
  readonly value: string | Cell
}

/** A column of a table. */
export interface Column {
  readonly label: string
  /** Whether its values are numbers, which end at one line. */
  readonly isNumber?: boolean
}

/** A field of a form. */
export type Field =
  | {
      readonly kind: 'text'
      readonly name: string
      readonly label: string
      readonly value: string
      readonly hint?: string
      readonly isRequired?: boolean
    }
  | {
      readonly kind: 'choice'
      readonly name: string
      readonly label: string
      readonly value: string
      /** Values and their names. */
      readonly options: readonly (readonly [value: string, name: string])[]
    }

/** Several numbers of each of a row of steps, such as hours. */
export interface Chart {
  readonly title: string
  /** All of it in a sentence, for whoever does not see it. */
  readonly summary: string
  /** What the steps are. */
  readonly stepLabel: string
  readonly series: readonly { readonly label: string; readonly tone: 'good' | 'bad' | 'plain' }[]
  readonly steps: readonly { readonly label: string; readonly values: readonly number[] }[]
}

/** A part of a page. */
export type Block =
  | { readonly kind: 'facts'; readonly title?: string; readonly facts: readonly Fact[] }
  | {
      readonly kind: 'table'
      readonly title: string
      /** Whether the title is that of the page: only for whoever hears it. */
      readonly isTitleHidden?: boolean
      /** Whether it has few and short values, which belong close together. */
      readonly isNarrow?: boolean
      readonly columns: readonly Column[]
      readonly rows: readonly (readonly (string | Cell)[])[]
      /** What is said when there is none. */
      readonly empty: string
      /** Path of the next page; none after the last one. */
      readonly next?: string | undefined
    }
  /** What can be done. */
  | { readonly kind: 'acts'; readonly acts: readonly { readonly label: string; readonly href: string }[] }
  | { readonly kind: 'text'; readonly text: string; readonly tone?: 'good' | 'bad' | 'waiting' }
  | { readonly kind: 'chart'; readonly chart: Chart }
  /** Shares of wholes. */
  | {
      readonly kind: 'meters'
      readonly title: string
      readonly meters: readonly {
        readonly label: Cell
        readonly text: string
        /** From 0 to 1. */
        readonly share: number
        readonly tone?: 'bad' | 'waiting' | undefined
      }[]
    }
  /** Looks for something: its fields go into the address. */
  | {
      readonly kind: 'filter'
      readonly label: string
      readonly action: string
      readonly fields: readonly Field[]
      readonly button: string
    }
  /** Does something, once it is sent. */
  | {
      readonly kind: 'confirm'
      readonly action: string
      readonly hidden: readonly (readonly [name: string, value: string])[]
      readonly fields: readonly Field[]
      readonly button: string
      readonly cancel: { readonly label: string; readonly href: string }
    }

/** A page of the console. */
export interface ConsoleView {
  readonly title: string
  /** Where it belongs in the navigation. */
  readonly section?: string | undefined
  readonly blocks: readonly Block[]
}

/** What surrounds a page of the console. */
export interface Surroundings {
  readonly navigation: readonly { readonly section: string; readonly label: string; readonly href: string }[]
  readonly navigationLabel: string
  readonly searchLabel: string
  readonly searchHint: string
  readonly searchButton: string
  readonly nextLabel: string
  readonly asTableLabel: string
  /** In which time zone instants are. */
  readonly timesText: string
  /** What was looked for. */
  readonly search: string
}
