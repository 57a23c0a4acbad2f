import type { JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { type Frame, Languages, SignOut } from '../layout.js'
import type { Block, Cell, ConsoleView, Fact, Field, Member, Surroundings } from './blocks.js'
import { HoursChart } from './chart.js'

/** A page of the console. Whatever it contains is escaped. */
export function consolePage(frame: Frame, around: Surroundings, view: ConsoleView): string {
  return `<!doctype html>${renderToString(<Page frame={frame} around={around} view={view} />)}`
}

function Page(props: { frame: Frame; around: Surroundings; view: ConsoleView }): JSX.Element {
  const { frame, around, view } = props
  const { brand, speech } = frame
  return (
    <html lang={speech.language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${view.title} – ${brand.name}`}</title>
        <link rel="stylesheet" href="/style.css" />
        {brand.hasLogo && <link rel="icon" href="/logo.svg" type="image/svg+xml" />}
      </head>
      <body class="console">
        <a class="skip" href="#content">
          {speech.messages.layout.skip}
        </a>
        <Head frame={frame} around={around} section={view.section} />
        <main id="content">
          <h1>
            <bdi>{view.title}</bdi>
          </h1>
          {view.blocks.map((block, place) => (
            <Part key={place} block={block} around={around} />
          ))}
        </main>
        <Foot frame={frame} timesText={around.timesText} />
      </body>
    </html>
  )
}

function Head(props: { frame: Frame; around: Surroundings; section: string | undefined }): JSX.Element {
  const { brand, person } = props.frame
  const { around, section } = props
  return (
    <header>
      <div class="bar">
        <a class="brand" href="/">
          {brand.hasLogo ? <img src="/logo.svg" alt="" /> : <span class="mark" aria-hidden="true" />}
          {brand.name}
        </a>
        {person && (
          <form class="search" method="get" action="/search" role="search">
            <label class="unseen" for="search">
              {around.searchLabel}
            </label>
            <input
              type="search"
              id="search"
              name="q"
              value={around.search}
              placeholder={around.searchHint}
              accessKey="s"
              autoComplete="off"
              spellcheck={false}
            />
            <button>{around.searchButton}</button>
          </form>
        )}
      </div>
      {person && (
        <nav class="sections" aria-label={around.navigationLabel}>
          {around.navigation.map((each) => (
            <a
              key={each.section}
              href={each.href}
              aria-current={each.section === section ? 'page' : undefined}
            >
              {each.label}
            </a>
          ))}
        </nav>
      )}
    </header>
  )
}

function Foot({ frame, timesText }: { frame: Frame; timesText: string }): JSX.Element {
  return (
    <footer>
      <SignOut frame={frame} />
      <span>{timesText}</span>
      <Languages frame={frame} />
    </footer>
  )
}

function Part({ block, around }: { block: Block; around: Surroundings }): JSX.Element | null {
  switch (block.kind) {
    case 'facts':
      return <Facts title={block.title} facts={block.facts} />
    case 'table':
      return <Table block={block} nextLabel={around.nextLabel} />
    case 'acts':
      return block.acts.length === 0 ? null : (
        <p class="acts">
          {block.acts.map(({ label, href }) => (
            <a key={href} class="button" href={href}>
              {label}
            </a>
          ))}
        </p>
      )
    case 'text':
      return (
        <p class={`note ${block.tone ?? ''}`} role={block.tone === undefined ? undefined : 'status'}>
          {block.text}
        </p>
      )
    case 'chart':
      return <HoursChart chart={block.chart} asTableLabel={around.asTableLabel} />
    case 'meters':
      return <Meters block={block} />
    case 'filter':
      return (
        <form class="filter" method="get" action={block.action} aria-label={block.label}>
          {block.fields.map((field) => (
            <Input key={field.name} field={field} />
          ))}
          <button>{block.button}</button>
        </form>
      )
    case 'confirm':
      return <Confirm block={block} />
  }
}

function Confirm({ block }: { block: Extract<Block, { kind: 'confirm' }> }): JSX.Element {
  return (
    <form class="confirm" method="post" action={block.action}>
      {block.hidden.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {block.fields.map((field) => (
        <Input key={field.name} field={field} />
      ))}
      <p class="acts">
        <button class="primary">{block.button}</button>
        <a class="button" href={block.cancel.href}>
          {block.cancel.label}
        </a>
      </p>
    </form>
  )
}

function Input({ field }: { field: Field }): JSX.Element {
  const id = `field-${field.name}`
  return (
    <p class="field">
      <label for={id}>{field.label}</label>
      {field.kind === 'text' ? (
        <input
          type="text"
          id={id}
          name={field.name}
          value={field.value}
          placeholder={field.hint}
          required={field.isRequired}
          autoComplete="off"
          spellcheck={false}
        />
      ) : (
        <select id={id} name={field.name}>
          {field.options.map(([value, name]) => (
            <option key={value} value={value} selected={value === field.value}>
              {name}
            </option>
          ))}
        </select>
      )}
    </p>
  )
}

function Facts({ title, facts }: { title: string | undefined; facts: readonly Fact[] }): JSX.Element {
  return (
    <section>
      {title !== undefined && <h2>{title}</h2>}
      <dl>
        {facts.map(({ label, value }, place) => (
          <div key={place}>
            <dt>{label}</dt>
            <dd>
              <Value value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Table(props: { block: Extract<Block, { kind: 'table' }>; nextLabel: string }): JSX.Element {
  const { title, isTitleHidden, isNarrow, columns, rows, empty, next } = props.block
  return (
    <section>
      {isTitleHidden !== true && <h2>{title}</h2>}
      {rows.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        // What scrolls can be reached by keyboard.
        <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
          <table class={isNarrow === true ? 'narrow' : undefined}>
            <caption class="unseen">{title}</caption>
            <thead>
              <tr>
                {columns.map(({ label, isNumber }) => (
                  <th key={label} scope="col" class={isNumber === true ? 'number' : undefined}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, place) => (
                <tr key={place}>
                  {row.map((cell, index) => (
                    <td key={index} class={columns[index]?.isNumber === true ? 'number' : undefined}>
                      <Value value={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== undefined && (
        <p>
          <a rel="next" href={next}>
            {props.nextLabel}
          </a>
        </p>
      )}
    </section>
  )
}

function Value({ value }: { value: string | Cell }): JSX.Element {
  const cell: Cell = typeof value === 'string' ? { text: value } : value
  const { text, href, tone, remark, isCode, members } = cell
  const content = <bdi class={isCode === true ? 'code' : undefined}>{text}</bdi>
  const toned = tone === undefined ? content : <span class={`tone ${tone}`}>{content}</span>
  return (
    <>
      {members !== undefined ? (
        <Members members={members} />
      ) : href === undefined ? (
        toned
      ) : (
        <a href={href}>{toned}</a>
      )}
      {remark !== undefined && remark !== '' && (
        <small>
          <bdi>{remark}</bdi>
        </small>
      )}
    </>
  )
}

function Members({ members }: { members: readonly Member[] }): JSX.Element {
  return (
    <dl class="members">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Meters({ block }: { block: Extract<Block, { kind: 'meters' }> }): JSX.Element | null {
  if (block.meters.length === 0) return null
  return (
    <section>
      <h2>{block.title}</h2>
      <ul class="meters">
        {block.meters.map(({ label, text, share, tone }, place) => (
          <li key={place}>
            <Value value={label} />
            <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">
              <rect class="whole" x="0" y="0" width="100" height="6" />
              <rect class={tone ?? 'plain'} x="0" y="0" width={Math.min(share, 1) * 100} height="6" />
            </svg>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
