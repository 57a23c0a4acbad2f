import { type Brand, readableOn } from './brand.js'

/** Lists of grants and payments, what is done with them, and fields that are typed into. */
const LISTS = `
section { margin-top: 1.6rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
.back { margin: 0 0 .75rem; font-size: .9rem; }
.more { margin: 1.25rem 0 0; }
.entries, .payments, .history, .downloads ul { list-style: none; margin: 0; padding: 0; }
.entries li { position: relative; margin: 0 0 .75rem; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .8rem; }
.entries li:hover { border-color: var(--field-line); }
.entry-head h2, .entry-head h3 { font-size: 1.05rem; margin: 0; }
.entries p { margin: .2rem 0 0; }
.entry-head a { text-decoration: none; }
.entry-head a::after { content: ""; position: absolute; inset: 0; border-radius: .8rem; }
.entry-head a:focus-visible { outline: none; }
.entry-head a:focus-visible::after { outline: 3px solid var(--text); outline-offset: 2px; }
.entry-head, .payment-head { display: flex; gap: .25rem 1rem; justify-content: space-between; align-items: baseline; }
.entries .claimed { margin: 0; color: var(--quiet); font-size: .9rem; }
.entries .quiet.small { margin-top: .5rem; }
.quiet.small > span:not(:last-child)::after, .quiet.small > bdi:not(:last-child)::after { content: " · "; }
.mark-of { flex: none; padding: .1rem .6rem; border-radius: 1rem; font-size: .85rem; font-weight: 600; background: var(--page); color: var(--quiet); border: 1px solid var(--line); }
.mark-of.in-force { background: var(--good-back); color: var(--good); border-color: transparent; }
.mark-of.paused { background: var(--warning-back); color: var(--warning); border-color: transparent; }
.state-line { display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: baseline; } .state-line > .quiet + .quiet { flex-basis: 100%; }
.spending { margin: .6rem 0 .2rem; }
.spending p { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; margin: .25rem 0 0; font-size: .95rem; }
progress { display: block; width: 100%; height: .5rem; border: 0; border-radius: .25rem; overflow: hidden; appearance: none; background: var(--line); accent-color: var(--brand); }
progress::-webkit-progress-bar { background: var(--line); }
progress::-webkit-progress-value { background: var(--brand); }
progress::-moz-progress-bar { background: var(--brand); }
section.acts { border-top: 0; margin-top: .75rem; padding-top: 0; }
.act-row { display: grid; grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); gap: .5rem; }
.act-row button, .act-row .button { padding-left: .3rem; padding-right: .3rem; }
.payments li, .history li { padding: .65rem 0; border-top: 1px solid var(--line); }
.payments li:first-child, .history li:first-child { border-top: 0; padding-top: 0; }
.payments p, .history p { margin: .1rem 0 0; }
.payee { font-weight: 600; }
.amount { flex: none; font-variant-numeric: tabular-nums; font-weight: 600; }
.payment-state.failed { color: var(--danger); font-weight: 600; }
.payment-state.completed { color: var(--good); }
del { color: var(--quiet); }
ins { text-decoration: none; font-weight: 600; }
.downloads h2 { font-size: 1rem; }
.downloads li { display: flex; justify-content: space-between; gap: 1rem; padding: .3rem 0; font-size: .9rem; color: var(--quiet); }
.files { flex: none; }
.files a { display: inline-block; padding: .15rem .25rem; min-height: 1.5rem; }
.actions + p, .later, details form + p { margin-top: 1rem; }
.entry-headline { font-weight: 600; }
.means { padding-left: 1.2rem; margin: .75rem 0; }
.means li { margin: .35rem 0; }
fieldset { margin: 1rem 0 0; padding: .25rem 1rem 1rem; border: 1px solid var(--line); border-radius: .6rem; }
legend { padding: 0 .4rem; font-weight: 600; }
.field .problem { margin: 0 0 .25rem; color: var(--danger); font-weight: 600; }
input[aria-invalid] { border: 2px solid var(--danger); }
`

/** The one stylesheet. */
export function styleOf({ color, colorDark }: Brand): string {
  return `
:root { color-scheme: light dark; --brand: ${color}; --on-brand: ${readableOn(color)};
  --page: #f2f4f3; --card: #ffffff; --text: #16201d; --quiet: #52605b; --line: #d9dfdc;
  --warning: #7a3300; --warning-back: #fff3e2; --warning-line: #e0a35c; --field-line: #6f7d78;
  --danger: #a3231b; --on-danger: #ffffff; --good-back: #e2f3ea; --good: #0d5434; }
@media (prefers-color-scheme: dark) { :root { --brand: ${colorDark}; --on-brand: ${readableOn(colorDark)};
  --page: #0e1412; --card: #18211e; --text: #e9efec; --quiet: #a9b7b1; --line: #31403a;
  --warning: #ffd9a8; --warning-back: #33230f; --warning-line: #8a5b1f; --field-line: #8b9a94;
  --danger: #ff9d94; --on-danger: #2a0907; --good-back: #12301f; --good: #9fe0bd; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem 1rem; background: var(--card); color: var(--text); }
.skip:focus { top: .5rem; }
header, footer, main { width: 100%; max-width: 36rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; gap: .6rem; align-items: center; padding-top: .7rem; padding-bottom: .7rem; font-weight: 600; }
header a { display: flex; gap: .6rem; align-items: center; color: inherit; text-decoration: none; min-height: 1.75rem; }
header a:hover span { text-decoration: underline; }
header img { height: 1.75rem; width: auto; }
header .mark { width: 1.1rem; height: 1.1rem; border-radius: .35rem; background: var(--brand); flex: none; }
main { flex: 1; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.25rem; }
h1 { font-size: 1.55rem; line-height: 1.22; letter-spacing: -.01em; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.1rem; line-height: 1.3; margin: 0 0 .6rem; }
h3 { font-size: 1.05rem; line-height: 1.3; margin: 0; }
p { margin: 0 0 .75rem; }
.quiet { color: var(--quiet); }
.small { font-size: .9rem; }
.warning { border: 1px solid var(--warning-line); border-left-width: .3rem; border-radius: .5rem; background: var(--warning-back); color: var(--warning);
  padding: .55rem .8rem; margin: .6rem 0; font-weight: 600; }
.warning p { margin: 0; }
dl { margin: .6rem 0 .8rem; }
dl div { display: grid; grid-template-columns: 6.75rem 1fr; gap: .1rem 1rem; padding: .4rem 0; border-top: 1px solid var(--line); }
dt { color: var(--quiet); }
dd { margin: 0; }
dd small { display: block; color: var(--quiet); font-size: .85rem; }
.actions { display: grid; gap: .5rem; margin: 1rem 0 0; }
/* What is decided stays in sight on a phone. */
@media (max-width: 39.99rem) and (min-height: 40rem) { form.actions { position: sticky; bottom: 0; margin: .5rem -1.25rem 0; padding: .75rem 1.25rem;
  background: var(--card); border-top: 1px solid var(--line); } html { scroll-padding-bottom: 10rem; } }
button, .button { display: block; width: 100%; min-height: 2.9rem; padding: .6rem 1rem; border: 2px solid var(--brand); border-radius: .7rem; font: inherit;
  font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; background: transparent; color: var(--text); overflow-wrap: anywhere; }
button.primary, .button.primary { background: var(--brand); color: var(--on-brand); }
button.link { display: inline; width: auto; min-height: 0; border: 0; padding: .25rem; color: inherit; text-decoration: underline; font-weight: 400; }
button.second, .button.second { border-color: var(--field-line); }
button.danger { background: var(--danger); border-color: var(--danger); color: var(--on-danger); }
a.button.danger { border-color: var(--danger); color: var(--danger); }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
a { color: inherit; }
details { margin-top: 1rem; border-top: 1px solid var(--line); padding-top: .75rem; }
summary { cursor: pointer; padding: .35rem 0; font-weight: 600; }
label { display: block; margin: .7rem 0 .25rem; }
label.tick { display: flex; gap: .6rem; align-items: baseline; }
input[type="text"], input[type="date"] { width: 100%; min-height: 2.75rem; padding: .5rem .7rem; border: 1px solid var(--field-line); border-radius: .5rem; font: inherit;
  background: var(--page); color: var(--text); }
input[type="checkbox"] { width: 1.15rem; height: 1.15rem; flex: none; accent-color: var(--brand); }
details button { margin-top: 1rem; }
footer { padding-top: 1rem; padding-bottom: 1.5rem; color: var(--quiet); font-size: .9rem; display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; }
footer form, footer nav { display: inline; }
${LISTS}@media (min-width: 40rem) { main { padding-top: 1.5rem; } .card { padding: 2rem; } h1 { font-size: 1.9rem; }
  .actions { grid-template-columns: 1fr 1fr; direction: rtl; } .actions > * { direction: ltr; } .actions > :only-child { grid-column: 1 / -1; } }
@media (max-width: 24rem) { dl div { grid-template-columns: 1fr; } .card { padding: 1rem; } }
@media (forced-colors: active) { .card, .warning, button, .button, .mark-of, .entries li { border-color: CanvasText; } progress { border: 1px solid CanvasText; } progress::-webkit-progress-value { background: Highlight; forced-color-adjust: none; } header .mark { forced-color-adjust: none; } }
@media print { body { background: none; } header, .card { padding: 0; border: 0; } .skip, .screen, footer, .back { display: none; } }
`
}
