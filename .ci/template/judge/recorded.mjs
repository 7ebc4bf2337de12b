// What functions needed while the end-to-end rig ran, as its record (calls.json) has it: permissions, each with the function, in the
// names of the template's stack.

import { readFileSync } from 'node:fs'
import { CLUSTER } from './cases.mjs'

const mapped = (value, change) => (Array.isArray(value) ? value.map(change) : change(value))

export function recorded(path, names) {
  const { permissions, names: rig, complete } = JSON.parse(readFileSync(path, 'utf8'))
  const renamed = (text) => ['TABLE', 'NODE_ROLE', 'REGION', 'ACCOUNT'].reduce((whole, name) => whole.replaceAll(rig[name], names[name]), text)
  const resource = (text) => renamed(text).replace(`/${rig.CLUSTER}/`, `/${CLUSTER}/`).replace(`:cluster/${rig.CLUSTER}`, `:cluster/${CLUSTER}`)
  const fact = (text) => (text === rig.CLUSTER ? CLUSTER : renamed(text))
  const cases = permissions.map((own) => ({
    function: own.function,
    action: own.action,
    resource: resource(own.resource),
    context: Object.fromEntries(Object.entries(own.context).map(([key, value]) => [key, mapped(value, fact)])),
  }))
  return { cases, complete }
}
