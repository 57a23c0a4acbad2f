/** What the console's pages have besides the style of all pages: they are wide and dense. */
export const consoleStyle = `
:root { --good: #14693b; --bad: #a3201d; --waiting: #7a4b00; --stripe: #f7f9f8; }
@media (prefers-color-scheme: dark) { :root { --good: #7fd6a2; --bad: #ff9d97; --waiting: #f1c370; --stripe: #1c2723; } }
.console { font-size: .9375rem; line-height: 1.4; background: var(--card); }
.console header, .console main, .console footer { max-width: 84rem; padding-left: 1rem; padding-right: 1rem; }
.console header { display: block; padding-top: .6rem; padding-bottom: 0; font-weight: 400; }
.console .bar { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; }
.console .brand { display: flex; gap: .6rem; align-items: center; font-weight: 600; text-decoration: none; }
.console .search { display: flex; flex: 1 1 18rem; gap: .4rem; max-width: 40rem; }
.console .search input { flex: 1; min-width: 0; }
.console button, .console .button { display: inline-block; width: auto; min-height: 2.25rem; padding: .3rem .8rem; border-width: 1px;
  border-color: var(--field-line); border-radius: .4rem; font-weight: 500; }
.console button.primary { border-color: var(--brand); }
.console button.link { min-height: 0; border: 0; padding: .25rem; }
.console input, .console select { min-height: 2.25rem; padding: .3rem .55rem; border: 1px solid var(--field-line); border-radius: .4rem; font: inherit;
  background: var(--card); color: var(--text); max-width: 100%; }
.console .sections { display: flex; overflow-x: auto; gap: .1rem; margin-top: .5rem; border-bottom: 1px solid var(--line); scrollbar-width: thin; }
.console .sections a { padding: .45rem .7rem; text-decoration: none; white-space: nowrap; border-bottom: 3px solid transparent; }
@media (min-width: 48rem) { .console .sections { flex-wrap: wrap; } }
.console .sections a:hover { text-decoration: underline; }
.console .sections a[aria-current] { border-bottom-color: var(--brand); font-weight: 600; }
.console :focus-visible { outline-offset: -2px; }
.console main { padding-top: 1rem; padding-bottom: 1.5rem; }
.console h1 { font-size: 1.35rem; margin: 0 0 .75rem; }
.console h2 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
.console dl { margin: 0 0 1rem; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 27rem), 1fr)); gap: 0 2rem; }
.console dl div { grid-template-columns: 9.5rem 1fr; padding: .3rem 0; }
.console dl.members { margin: 0; grid-template-columns: fit-content(60%) minmax(5rem, 1fr); gap: 0 .75rem; } .console dl.members div { display: contents; }
.console td dl.members { min-width: 17rem; overflow-wrap: anywhere; }
.console small { display: block; color: var(--quiet); font-size: .85em; }
.scrolls { overflow-x: auto; }
.console table { border-collapse: collapse; width: 100%; }
.console th, .console td { text-align: start; padding: .32rem .9rem .32rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: normal; }
.console .number { text-align: end; }
.console table.narrow { max-width: 40rem; }
.console thead th { font-weight: 600; color: var(--quiet); font-size: .875em; white-space: nowrap; }
.console tbody tr:hover { background: var(--stripe); }
.console td a, .console th a { text-underline-offset: .15em; }
td.number, th.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.code { font-variant-numeric: tabular-nums; white-space: nowrap; }
dd .code, td small { white-space: normal; }
td small { min-width: 12rem; }
.tone::before { content: "●"; margin-inline-end: .35em; font-size: .7em; vertical-align: .12em; }
.tone.good::before { color: var(--good); } .tone.bad { color: var(--bad); } .tone.waiting { color: var(--waiting); }
.note { border-inline-start: .3rem solid var(--line); padding: .3rem .8rem; max-width: 60rem; }
.note.good { border-color: var(--good); } .note.bad { border-color: var(--bad); } .note.waiting { border-color: var(--waiting); }
.acts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0; }
.filter { display: flex; flex-wrap: wrap; gap: .25rem .8rem; align-items: end; margin: 0 0 .75rem; }
.field { margin: 0; } .field label { margin: 0 0 .1rem; font-size: .875em; color: var(--quiet); }
.filter input, .filter select { width: 9rem; }
.confirm { max-width: 36rem; } .confirm .field { margin: 0 0 .7rem; } .confirm .field input { width: 100%; }
.chart { display: block; width: 100%; height: 7.5rem; } .chart .base { stroke: var(--line); }
.chart .plain, .meters .plain { fill: var(--brand); } .chart .good { fill: var(--good); } .chart .bad, .meters .bad { fill: var(--bad); }
.meters .waiting { fill: var(--waiting); } .meters .whole { fill: var(--line); }
.legend { display: flex; gap: 1rem; font-size: .875em; color: var(--quiet); margin: 0 0 .3rem; }
.legend span::before { content: "■"; margin-inline-end: .35em; color: var(--brand); } .legend .good::before { color: var(--good); } .legend .bad::before { color: var(--bad); }
.meters { list-style: none; padding: 0; margin: 0; }
.meters li { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr minmax(9rem, auto); gap: .2rem 1rem; align-items: center; padding: .25rem 0; }
.meters svg { width: 100%; height: .6rem; } .meters li > span:last-child { text-align: end; font-variant-numeric: tabular-nums; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.console details { border: 0; margin-top: .4rem; padding: 0; } .console details summary { font-weight: 400; color: var(--quiet); }
@media (max-width: 40rem) { .filter .field, .filter input, .filter select { width: 100%; } .console dl div { grid-template-columns: 7.5rem 1fr; }
  .meters li { grid-template-columns: 1fr auto; } .meters svg { grid-column: 1 / -1; grid-row: 2; } }
@media (forced-colors: active) { .chart .base { stroke: CanvasText; } .chart .plain, .chart .good, .meters .plain, .meters .waiting, .meters .bad { fill: CanvasText; }
  .chart .bad, .meters .whole { fill: Canvas; stroke: CanvasText; vector-effect: non-scaling-stroke; } .legend .bad::before { content: "□"; } .console .sections a[aria-current] { border-bottom-color: Highlight; } }
`
