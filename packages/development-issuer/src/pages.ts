import type { Person } from './options.js'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** For text and for quoted attributes. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** Where the style sheet is. */
export const STYLE_PATH = '/style.css'

/** The style sheet of every page. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #eef1f4; --card: #fff; --ink: #14202b; --quiet: #566472; --line: #dbe1e7; --field: #7b8894;
  --accent: #0f5c4d; --on-accent: #fff; --warn: #7a3e00; --warn-soft: #fff3e2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1318; --card: #171e25; --ink: #e9eef3; --quiet: #9fadba; --line: #2b353f; --field: #74828f;
    --accent: #6fd3b5; --on-accent: #06231c; --warn: #ffcf8f; --warn-soft: #33250f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 26rem; margin: 0 auto; padding: 3rem 1rem; }
.card { padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
.quiet { margin: 1rem 0 0; color: var(--quiet); font-size: .9rem; text-align: center; }
.warning { padding: .75rem 1rem; border-radius: .6rem; background: var(--warn-soft); color: var(--warn); font-weight: 600; }
label { display: block; margin: 1rem 0 .3rem; font-weight: 600; }
input { width: 100%; padding: .75rem; font: inherit; color: inherit; background: var(--card); border: 1.5px solid var(--field); border-radius: .6rem; }
button { width: 100%; margin-top: 1.5rem; padding: .85rem; font: inherit; font-weight: 650; cursor: pointer; color: var(--on-accent); background: var(--accent); border: 1.5px solid var(--accent); border-radius: .65rem; }
button.second { margin-top: .75rem; color: var(--ink); background: transparent; border-color: var(--field); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
@media (max-width: 30rem) { main { padding: 1rem .75rem; } .card { padding: 1.35rem 1.15rem; } }
`

/** @param content markup that may be sent as it is */
function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${STYLE_PATH}">
</head>
<body>
<main>
<div class="card">
<h1>${escaped(title)}</h1>
${content}
</div>
<p class="quiet">Development issuer: real banks have a sign-in of their own.</p>
</main>
</body>
</html>
`
}

/** What is shown to somebody who is to sign in. */
export interface SignInPage {
  /** Who asks: a client id. */
  readonly client: string
  /** Path that the form is sent to. */
  readonly action: string
  readonly username: string
  /** Whether the attempt before this page failed. */
  readonly isWrong: boolean
  /** Who can sign in without a password. */
  readonly offered: readonly Person[]
}

/** The page where people sign in. Its inputs are `username` and `password`. */
export function signInPage({ client, action, username, isWrong, offered }: SignInPage): string {
  const warning = isWrong ? '<p class="warning" role="alert">Wrong name or password.</p>' : ''
  return page(
    'Sign in',
    `<p>to go on to <strong>${escaped(client)}</strong></p>
${warning}
<form method="post" action="${escaped(action)}">
<label for="username">Name</label>
<input id="username" name="username" value="${escaped(username)}" autocomplete="username" autocapitalize="none" spellcheck="false" required${username === '' ? ' autofocus' : ''}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${username === '' ? '' : ' autofocus'}>
<button type="submit">Sign in</button>
</form>${buttonsOf(offered, action)}`
  )
}

/** After the form, so that whoever sends the first form of the page sends that. */
function buttonsOf(offered: readonly Person[], action: string): string {
  if (offered.length === 0) return ''
  const buttons = offered.map(
    ({ username, name }) =>
      `<button class="second" name="person" value="${escaped(username)}">${escaped(name)}</button>`
  )
  return `
<form method="post" action="${escaped(action)}" class="people">
<p class="quiet">or without a password, as</p>
${buttons.join('\n')}
</form>`
}

/**
 * Asks whether somebody wants to sign out.
 *
 * @param form hidden form of the library, with the id `op.logoutForm`
 */
export function signOutPage(form: string): string {
  return page(
    'Sign out?',
    `<p>You will have to sign in again everywhere.</p>
${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button class="second" type="submit" form="op.logoutForm">Stay signed in</button>`
  )
}

/**
 * Asks for the code that a program on another device shows.
 *
 * @param form form of the library with the input, and the id `op.deviceInputForm`
 */
export function deviceCodePage(form: string, isWrong: boolean): string {
  const warning = isWrong
    ? '<p class="warning" role="alert">This code is wrong, or its time is over.</p>'
    : ''
  return page(
    'Enter the code',
    `<p>that the program shows in which you sign in</p>
${warning}
${form}
<button type="submit" form="op.deviceInputForm">Go on</button>`
  )
}

/**
 * Asks whether somebody has a program that shows this code.
 *
 * @param form hidden form of the library, with the id `op.deviceConfirmForm`
 */
export function deviceConfirmPage(form: string, client: string, code: string): string {
  return page(
    'Sign in there?',
    `<p><strong>${escaped(client)}</strong> must show the code <strong>${escaped(code)}</strong>. If somebody sent it to you, they want to sign in as you.</p>
${form}
<button type="submit" form="op.deviceConfirmForm">It shows this code</button>
<button class="second" type="submit" form="op.deviceConfirmForm" name="abort" value="yes">It does not</button>`
  )
}

/** Says something that is all there is to say. */
export function noticePage(title: string, text: string): string {
  return page(title, `<p>${escaped(text)}</p>`)
}
