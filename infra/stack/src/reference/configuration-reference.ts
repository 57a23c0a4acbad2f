import { authServerSchema } from '@open-payments-server/auth-server/config'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { describeSettings, type SettingDescription } from '@open-payments-server/runtime/configuration'
import { webSchema } from '@open-payments-server/web/config'

/** A setting, without what its value must look like. */
type DocumentedSetting = Omit<SettingDescription, 'pattern'>

/** Settings of the quick start, which reads them itself. */
const STACK_SETTINGS: readonly DocumentedSetting[] = [
  stackSetting('STACK_PORT_BASE', 'First of the ten ports that the quick start uses.', '5000', '4000'),
  stackSetting('STACK_DIRECTORY', 'Folder for all data of the quick start.', '/tmp/stack', '.local'),
  stackSetting(
    'DATABASE_URL',
    'PostgreSQL to use instead of the embedded one: the databases `auth` and `wallet` are created on it.',
    'postgresql://postgres:password@localhost:5432/postgres'
  ),
  stackSetting(
    'AUTH_DATABASE_URL',
    'Database of the auth server. Set together with RESOURCE_DATABASE_URL, instead of DATABASE_URL.',
    'postgresql://auth:password@localhost:5432/auth'
  ),
  stackSetting(
    'RESOURCE_DATABASE_URL',
    'Database of the resource server. Set together with AUTH_DATABASE_URL.',
    'postgresql://wallet:password@localhost:5432/wallet'
  )
]

/** The reference page of all settings, in Markdown, generated from the schemas of the services. */
export function configurationReference(): string {
  return [
    '# Configuration',
    '',
    'Each service reads its settings from environment variables, once, when it starts. A setting that is missing, malformed',
    'or misspelt prevents the start, and the message names every such setting and says what to change. A setting marked',
    'secret may be given as `<NAME>_FILE` instead, the path of a file that contains it; its value is never printed.',
    '',
    'This page is generated from the schemas by `node infra/stack/scripts/write-docs.mjs`. Do not edit it.',
    '',
    ...section('auth-server', describeSettings(authServerSchema)),
    ...section('resource-server', describeSettings(resourceServerSchema)),
    ...section('web', describeSettings(webSchema)),
    ...section('Quick start', STACK_SETTINGS),
    'The quick start passes on every setting of the services that it does not set itself, such as `LOG_LEVEL`,',
    '`REDIS_URL`, `EXCHANGE_RATES` and `FEES`. It serves metrics on the last two of its ports: 4007 for the auth server',
    'and 4008 for the resource server, unless `STACK_PORT_BASE` moves them.',
    ''
  ].join('\n')
}

function section(title: string, settings: readonly DocumentedSetting[]): string[] {
  return [`## ${title}`, '', ...settings.map(line), '']
}

function line({ name, description, example, defaultValue, required, secret }: DocumentedSetting): string {
  const marks = [required ? 'required' : undefined, secret ? 'secret' : undefined].filter(
    (mark) => mark !== undefined
  )
  const suffix = marks.length === 0 ? '' : ` (${marks.join(', ')})`
  const value = defaultValue === undefined ? `Example: \`${example}\`` : `Default: \`${defaultValue}\``
  return `- \`${name}\`${suffix}: ${description} ${value}`
}

function stackSetting(
  name: string,
  description: string,
  example: string,
  defaultValue?: string
): DocumentedSetting {
  return { name, description, example, defaultValue, required: false, secret: name.includes('DATABASE_URL') }
}
