/** The style sheet of every page. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #eef1f4; --card: #ffffff; --ink: #14202b; --quiet: #566472; --line: #dbe1e7;
  --accent: #0f5c4d; --on-accent: #ffffff; --accent-soft: #e6f2ee; --warn: #7a3e00; --warn-soft: #fff3e2; --warn-line: #e9b872;
  --shadow: 0 1px 2px rgb(20 32 43 / 6%), 0 12px 32px rgb(20 32 43 / 9%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1318; --card: #171e25; --ink: #e9eef3; --quiet: #9fadba; --line: #2b353f;
    --accent: #6fd3b5; --on-accent: #06231c; --accent-soft: #15302a; --warn: #ffcf8f; --warn-soft: #33250f; --warn-line: #7d5a21;
    --shadow: none;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 37rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
.brand { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.1rem .25rem; color: var(--quiet); font-weight: 600; }
.brand svg { width: 1.5rem; height: 1.5rem; color: var(--accent); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; box-shadow: var(--shadow); overflow: hidden; }
.who, .asked, .choice, .notice { padding: 1.75rem 2rem; }
h1 { margin: 0 0 1rem; font-size: 1.55rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1.05rem; }
p { margin: 0; }
.quiet { color: var(--quiet); font-size: .9rem; }
.address { font: .95rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.address .rest { color: var(--quiet); }
.address strong { font-weight: 700; }
.client { padding: .8rem 1rem; margin: 0 0 .6rem; border: 2px solid var(--accent); border-radius: .6rem; background: var(--accent-soft); }
.client .label { display: block; font-size: .8rem; font-weight: 600; color: var(--quiet); }
.client .address { font-size: 1.05rem; }
.wallet { margin: .9rem 0 0; border-color: var(--line); background: none; }
.asked { border-top: 1px solid var(--line); }
.figure { margin: .5rem 0 0; font-size: 2.3rem; line-height: 1.15; font-weight: 700; letter-spacing: -.02em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.figure small { display: block; margin-top: .15rem; font-size: .95rem; font-weight: 400; letter-spacing: 0; color: var(--quiet); }
.warning { margin: .9rem 0 0; padding: .75rem 1rem; border: 1px solid var(--warn-line); border-radius: .6rem; background: var(--warn-soft); color: var(--warn); font-weight: 600; }
dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .55rem 1rem; margin: 1.1rem 0 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
dd.address { font-size: .9rem; padding-top: .1rem; }
.choice { border-top: 1px solid var(--line); }
.buttons { display: flex; gap: .75rem; margin-bottom: 1rem; }
button {
  flex: 1; padding: .85rem 1.25rem; font: inherit; font-weight: 650; border-radius: .65rem; cursor: pointer;
  border: 1.5px solid var(--accent); background: var(--accent); color: var(--on-accent);
}
button.decline { background: transparent; color: var(--ink); border-color: var(--quiet); }
button:hover { filter: brightness(1.08); }
button.decline:hover { border-color: var(--ink); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.notice p + p { margin-top: .75rem; }
a { color: var(--accent); }
@media (max-width: 32rem) {
  main { padding: 1.25rem .75rem 2rem; }
  .who, .asked, .choice, .notice { padding: 1.35rem 1.15rem; }
  h1 { font-size: 1.35rem; }
  dl { grid-template-columns: 1fr; gap: .1rem; }
  dd { margin-bottom: .65rem; }
  .figure { font-size: 2rem; }
  .buttons { flex-direction: column; }
}
`

/** The icon of every page: a wallet. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#2a9d83" stroke-width="2"><rect x="3" y="6" width="18" height="13" rx="3"/><path d="M3 10h18M15.5 14.5h2" stroke-linecap="round"/></svg>`
